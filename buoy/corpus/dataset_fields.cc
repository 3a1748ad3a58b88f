#include "buoy/corpus/dataset_fields.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/text/utf8.h"

namespace buoy {

const Json& list_of(const JsonObject& object, std::string_view key) {
  const Json* list = object.find(key);
  if (list == nullptr) fail("{}: \"{}\" is missing", object.place(), key);
  if (!list->is_array()) fail("{}: \"{}\" is {}, expected a list", object.place(), key, kind_of(*list));
  return *list;
}

const Json& list_or_empty(const JsonObject& object, std::string_view key) {
  static const Json empty = Json::array();
  return object.has(key) ? list_of(object, key) : empty;
}

JsonObject object_in(const JsonObject& object, std::string_view key) {
  const Json* found = object.find(key);
  if (found == nullptr) fail("{}: \"{}\" is missing", object.place(), key);
  return JsonObject(*found, fmt::format("{}: \"{}\"", object.place(), key));
}

const std::string& string_in(const Json& value, const JsonObject& object, std::string_view key) {
  if (!value.is_string()) {
    fail("{}: \"{}\" holds {}, expected strings", object.place(), key, kind_of(value));
  }
  return value.get_ref<const std::string&>();
}

std::string id_of(const JsonObject& object, std::string_view key) {
  const Json* id = object.find(key);
  return id != nullptr && id->is_number_integer() ? id->dump() : object.string_or(key, "");
}

void add_answer(QaItem& item, const std::string& answer) {
  // An empty gold answer would stand inside every prediction.
  if (!answer.empty() && std::ranges::find(item.answers, answer) == item.answers.end()) {
    item.answers.push_back(answer);
  }
}

void add_answers(QaItem& item, const JsonObject& object, std::string_view key) {
  const Json* found = object.find(key);
  if (found == nullptr) return;
  if (!found->is_array()) return add_answer(item, object.string(key));
  for (const Json& answer : *found) add_answer(item, string_in(answer, object, key));
}

std::string passage_place(const JsonObject& object, const QaItem& item) {
  return fmt::format("{}: passage {}", object.place(), item.passages.size() + 1);
}

void set_unanswerable(QaItem& item) {
  item.answers = {""};
}

std::string_view first_of(const JsonObject& object, std::initializer_list<std::string_view> keys) {
  const auto* found = std::ranges::find_if(keys, [&](std::string_view key) { return object.has(key); });
  return found == keys.end() ? *(keys.end() - 1) : *found;
}

const Json& entry(const Json* column, std::size_t i) {
  static const Json nothing;
  return column != nullptr && column->is_array() && i < column->size() ? (*column)[i] : nothing;
}

QaPassage join_sentences(const Json& sentences, std::span<const Index> wanted, const JsonObject& object) {
  QaPassage passage;
  Index length = 0, number = 0;
  for (const Json& json : sentences) {
    const std::string& sentence = string_in(json, object, "context");
    const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t'; };
    const auto first = std::ranges::find_if_not(sentence, is_space);
    // HotpotQA's sentences bring the space before them; other files of its shape need not.
    if (!passage.text.empty() && !is_space(passage.text.back()) && first == sentence.begin() &&
        !sentence.empty()) {
      passage.text += ' ';
      ++length;
    }
    const TextSpan span{length + (first - sentence.begin()), length + count_code_points(sentence)};
    if (std::ranges::find(wanted, number++) != wanted.end() && span.begin < span.end) {
      passage.evidence.push_back(span);
    }
    passage.text += sentence;
    length = span.end;
  }
  return passage;
}

}  // namespace buoy
