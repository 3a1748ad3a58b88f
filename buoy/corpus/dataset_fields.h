// Fields of other people's records: lists, ids, answers. Private to corpus.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "buoy/corpus/dataset.h"
#include "buoy/corpus/dataset_record.h"
#include "buoy/io/json.h"

namespace buoy {

// Throws Error when the list is absent or none.
const Json& list_of(const JsonObject& object, std::string_view key);
// Nothing where the list is absent.
const Json& list_or_empty(const JsonObject& object, std::string_view key);

// Throws Error when it is absent or no object.
JsonObject object_in(const JsonObject& object, std::string_view key);

const std::string& string_in(const Json& value, const JsonObject& object, std::string_view key);

// Other people's ids are strings or numbers. Empty where there is none.
std::string id_of(const JsonObject& object, std::string_view key);

// Each once, empty ones left out.
void add_answer(QaItem& item, const std::string& answer);
// A field that holds one answer or a list of them; nothing where it is absent.
void add_answers(QaItem& item, const JsonObject& object, std::string_view key);
// The right answer is to give none.
void set_unanswerable(QaItem& item);

std::string passage_place(const JsonObject& object, const QaItem& item);

// The first of the keys that is there; the last where none is.
std::string_view first_of(const JsonObject& object, std::initializer_list<std::string_view> keys);

// Entry i of a column; null where the column is absent or shorter.
const Json& entry(const Json* column, std::size_t i);

// A paragraph's sentences as one text. `wanted` are the numbers of those that state a needed fact; a number
// past the last sentence marks nothing.
QaPassage join_sentences(const Json& sentences, std::span<const Index> wanted, const JsonObject& object);

// Public datasets, each in its own layout and in that of the Hub's rows (docs/datasets.md).
QaItem parse_squad(const DatasetRecord& record);
QaItem parse_hotpotqa(const DatasetRecord& record);
QaItem parse_triviaqa(const DatasetRecord& record);
QaItem parse_ms_marco(const DatasetRecord& record);
QaItem parse_natural_questions(const DatasetRecord& record);
QaItem parse_popqa(const DatasetRecord& record);
QaItem parse_dpr(const DatasetRecord& record);
QaItem parse_musique(const DatasetRecord& record);

}  // namespace buoy
