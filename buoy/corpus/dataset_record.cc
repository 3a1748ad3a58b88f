#include "buoy/corpus/dataset_record.h"

#include <algorithm>
#include <array>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

const Json& list_of(const JsonObject& object, std::string_view key) {
  const Json* list = object.find(key);
  if (list == nullptr) fail("{}: \"{}\" is missing", object.place(), key);
  if (!list->is_array()) fail("{}: \"{}\" is {}, expected a list", object.place(), key, kind_of(*list));
  return *list;
}

// Nothing where the list is absent.
const Json& list_or_empty(const JsonObject& object, std::string_view key) {
  static const Json empty = Json::array();
  return object.has(key) ? list_of(object, key) : empty;
}

const std::string& string_in(const Json& value, const JsonObject& object, std::string_view key) {
  if (!value.is_string()) {
    fail("{}: \"{}\" holds {}, expected strings", object.place(), key, kind_of(value));
  }
  return value.get_ref<const std::string&>();
}

// Other people's ids are strings or numbers.
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

// A field that holds one answer or a list of them; nothing where it is absent.
void add_answers(QaItem& item, const JsonObject& object, std::string_view key) {
  const Json* found = object.find(key);
  if (found == nullptr) return;
  if (!found->is_array()) return add_answer(item, object.string(key));
  for (const Json& answer : *found) add_answer(item, string_in(answer, object, key));
}

std::string passage_place(const JsonObject& object, const QaItem& item) {
  return fmt::format("{}: passage {}", object.place(), item.passages.size() + 1);
}

std::vector<TextSpan> parse_spans(const JsonObject& object, std::string_view key, Index length) {
  std::vector<TextSpan> spans;
  for (const Json& pair : list_or_empty(object, key)) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() ||
        !pair[1].is_number_integer()) {
      fail("{}: \"{}\" holds {}, expected pairs [begin, end]", object.place(), key, kind_of(pair));
    }
    const TextSpan span{pair[0].get<Index>(), pair[1].get<Index>()};
    if (span.begin < 0 || span.end <= span.begin || span.end > length) {
      fail("{}: \"{}\" holds [{}, {}], expected a span of the {} characters of the text", object.place(), key,
           span.begin, span.end, length);
    }
    spans.push_back(span);
  }
  return spans;
}

QaItem parse_buoy(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  QaItem item{
      .id = object.string("id"), .task = object.string_or("task", ""), .question = object.string("question")};
  list_of(object, "answers");
  add_answers(item, object, "answers");
  for (const Json& json : list_or_empty(object, "passages")) {
    const JsonObject passage(json, passage_place(object, item));
    QaPassage made{.title = passage.string_or("title", ""),
                   .text = passage.string("text"),
                   .gold = passage.boolean_or("gold", false)};
    made.evidence = parse_spans(passage, "evidence", count_code_points(made.text));
    item.passages.push_back(std::move(made));
  }
  return item;
}

// The first of the keys that is there; the last where none is.
std::string_view first_of(const JsonObject& object, std::initializer_list<std::string_view> keys) {
  const auto* found = std::ranges::find_if(keys, [&](std::string_view key) { return object.has(key); });
  return found == keys.end() ? *(keys.end() - 1) : *found;
}

QaItem parse_kilt(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  QaItem item{.id = id_of(object, "id"),
              .task = object.string_or("task", ""),
              .question = object.string(first_of(object, {"input", "query", "question"}))};
  for (const Json& output : list_or_empty(object, "output")) {
    add_answers(item, JsonObject(output, record.place + ": \"output\""), "answer");
  }
  add_answers(item, object, "answer");
  add_answers(item, object, "answers");
  for (const Json& json : list_or_empty(object, first_of(object, {"passage", "passages"}))) {
    if (json.is_string()) {
      item.passages.push_back({.text = json.get<std::string>()});
      continue;
    }
    const JsonObject passage(json, passage_place(object, item));
    item.passages.push_back({.title = passage.string_or("title", ""),
                             .text = passage.string(first_of(passage, {"segment", "text"}))});
  }
  return item;
}

QaItem parse_lost_in_the_middle(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  QaItem item{.id = id_of(object, "id"), .question = object.string("question")};
  add_answers(item, object, "answers");
  for (const Json& json : list_of(object, "ctxs")) {
    const JsonObject passage(json, passage_place(object, item));
    item.passages.push_back({.title = passage.string_or("title", ""),
                             .text = passage.string("text"),
                             .gold = passage.boolean_or("isgold", false)});
  }
  return item;
}

QaItem parse_squad(const DatasetRecord& record) {
  if (record.paragraph == nullptr) fail("{}: is not inside one of SQuAD's articles", record.place);
  const JsonObject object(*record.value, record.place), paragraph(*record.paragraph, record.place),
      article(*record.article, record.place);
  QaItem item{.id = id_of(object, "id"), .question = object.string("question")};
  for (const Json& json : list_of(object, "answers")) {
    add_answer(item, JsonObject(json, record.place + ": \"answers\"").string("text"));
  }
  item.passages.push_back(
      {.title = article.string_or("title", ""), .text = paragraph.string("context"), .gold = true});
  return item;
}

// A paragraph's sentences as one text. `wanted` are the numbers of those that state a needed fact; a number
// past the last sentence marks nothing.
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

QaItem parse_hotpotqa(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  QaItem item{.id = id_of(object, "_id"),
              .task = object.string_or("type", ""),
              .question = object.string("question")};
  add_answers(item, object, "answer");
  const Json& facts = list_of(object, "supporting_facts");
  for (const Json& fact : facts) {
    if (!fact.is_array() || fact.size() != 2 || !fact[0].is_string() || !fact[1].is_number_integer()) {
      fail("{}: \"supporting_facts\" holds {}, expected pairs [title, sentence]", record.place,
           kind_of(fact));
    }
  }
  for (const Json& paragraph : list_of(object, "context")) {
    if (!paragraph.is_array() || paragraph.size() != 2 || !paragraph[0].is_string() ||
        !paragraph[1].is_array()) {
      fail("{}: \"context\" holds {}, expected pairs [title, sentences]", record.place, kind_of(paragraph));
    }
    std::vector<Index> wanted;
    for (const Json& fact : facts) {
      if (fact[0] == paragraph[0]) wanted.push_back(fact[1].get<Index>());
    }
    QaPassage passage = join_sentences(paragraph[1], wanted, object);
    passage.title = paragraph[0].get<std::string>();
    passage.gold = !wanted.empty();
    item.passages.push_back(std::move(passage));
  }
  return item;
}

using ParseRecord = QaItem (*)(const DatasetRecord&);
struct FormatRow {
  std::string_view name;
  ParseRecord parse;
};
constexpr std::array<FormatRow, kDatasetFormatCount> kFormats = {
    {{"buoy", parse_buoy},
     {"kilt", parse_kilt},
     {"lost-in-the-middle", parse_lost_in_the_middle},
     {"squad", parse_squad},
     {"hotpotqa", parse_hotpotqa}}};

const FormatRow& row_of(DatasetFormat format) {
  return kFormats[static_cast<std::size_t>(format)];
}

}  // namespace

std::string_view name_of(DatasetFormat format) {
  return row_of(format).name;
}

DatasetFormat dataset_format_named(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &FormatRow::name);
  if (found != kFormats.end()) return static_cast<DatasetFormat>(found - kFormats.begin());
  std::string names;
  for (const FormatRow& row : kFormats) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  fail_usage("{}: no such dataset format, expected one of {}", quote(name), names);
}

std::optional<DatasetFormat> detect_format(const Json& record) {
  // The first row that has any of its fields; from the most telling field to the least.
  struct Sign {
    DatasetFormat format;
    std::string_view field;
  };
  constexpr Sign kSigns[] = {{DatasetFormat::kSquad, "data"},
                             {DatasetFormat::kHotpotqa, "supporting_facts"},
                             {DatasetFormat::kLostInTheMiddle, "ctxs"},
                             {DatasetFormat::kKilt, "input"},
                             {DatasetFormat::kKilt, "query"},
                             {DatasetFormat::kKilt, "output"},
                             {DatasetFormat::kKilt, "answer"},
                             {DatasetFormat::kKilt, "passage"},
                             {DatasetFormat::kBuoy, "id"},
                             {DatasetFormat::kKilt, "answers"}};
  if (!record.is_object()) return std::nullopt;
  for (const Sign& sign : kSigns) {
    if (record.contains(std::string(sign.field))) return sign.format;
  }
  return std::nullopt;
}

QaItem parse_record(DatasetFormat format, const DatasetRecord& record) {
  QaItem item = row_of(format).parse(record);
  if (item.question.empty()) fail("{}: the question is empty", record.place);
  if (item.answers.empty()) fail("{}: has no answer, expected at least one", record.place);
  return item;
}

std::vector<DatasetRecord> records_of(const Json& document, const std::string& place) {
  std::vector<DatasetRecord> records;
  const auto add = [&](DatasetRecord record) {
    record.place = fmt::format("record {}", records.size() + 1);
    records.push_back(std::move(record));
  };
  if (document.is_array()) {
    for (const Json& value : document) add({.value = &value});
    return records;
  }
  if (!document.is_object() || !document.contains("data")) {
    fail("{}: is {} as a whole, expected a list of records or SQuAD's \"data\"", place, kind_of(document));
  }
  for (const Json& article : list_of(JsonObject(document, place), "data")) {
    for (const Json& paragraph : list_of(JsonObject(article, place + ": an article"), "paragraphs")) {
      for (const Json& question : list_of(JsonObject(paragraph, place + ": a paragraph"), "qas")) {
        add({.value = &question, .paragraph = &paragraph, .article = &article});
      }
    }
  }
  return records;
}

}  // namespace buoy
