// From one JSON record of a dataset file to a question-answering item, for each format.
#pragma once

#include <optional>
#include <string>

#include "buoy/corpus/dataset.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

// Views of parsed JSON, which must outlive it.
struct DatasetRecord {
  const Json* value = nullptr;
  const Json* paragraph = nullptr;  // of SQuAD: what holds the question, and the article that holds that
  const Json* article = nullptr;
  std::string place;  // starts error messages
};

// The format that a record's fields speak of, if any. A whole file of SQuAD, TriviaQA or MS MARCO counts as a
// record.
std::optional<DatasetFormat> detect_format(const Json& record);

// Whether a value is no record but holds them: "data" of SQuAD, "Data" of TriviaQA, columns of MS MARCO.
bool holds_records(const Json& value);

// Throws Error naming place and field. Without an id in the record the item's is empty.
QaItem parse_record(DatasetFormat format, const DatasetRecord& record);

// Fields of a record that could hold passages, told by their long texts, and that no format reads.
std::vector<std::string> unread_texts(const Json& record);

// A file that is one JSON value, with MS MARCO's columns turned into a list of records.
Json with_rows(Json document);

// The records of a file that is one JSON value: a list of records, SQuAD's articles or TriviaQA's data.
// Throws Error when it is neither; `place` starts the message.
std::vector<DatasetRecord> records_of(const Json& document, const std::string& place);

}  // namespace buoy
