#include "buoy/corpus/dataset_record.h"

#include <algorithm>
#include <array>
#include <map>

#include "buoy/base/error.h"
#include "buoy/corpus/dataset_fields.h"
#include "buoy/io/json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

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
                   .gold = passage.boolean_or("gold", false),
                   .id = id_of(passage, "id")};
    made.evidence = parse_spans(passage, "evidence", count_code_points(made.text));
    item.passages.push_back(std::move(made));
  }
  return item;
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
                             .text = passage.string(first_of(passage, {"segment", "text"})),
                             .id = id_of(passage, first_of(passage, {"id", "docid"}))});
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
                             .gold = passage.boolean_or("isgold", false),
                             .id = id_of(passage, "id")});
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
     {"hotpotqa", parse_hotpotqa},
     {"triviaqa", parse_triviaqa},
     {"ms-marco", parse_ms_marco},
     {"nq", parse_natural_questions},
     {"popqa", parse_popqa},
     {"dpr", parse_dpr},
     {"musique", parse_musique}}};

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

namespace {

bool has(const Json& record, std::string_view field) {
  return record.contains(std::string(field));
}

bool has_object(const Json& record, std::string_view field) {
  const auto found = record.find(std::string(field));
  return found != record.end() && found->is_object();
}

// Public sets whose fields say which they are; from the most telling to the least.
std::optional<DatasetFormat> detect_public(const Json& record) {
  using enum DatasetFormat;
  if (has(record, "passage")) return std::nullopt;  // one of the paper's files, whatever else it kept
  if (has(record, "data") || (has(record, "context") && has_object(record, "answers"))) return kSquad;
  if (has(record, "supporting_facts") && has(record, "context")) return kHotpotqa;
  if (has(record, "Data") || has(record, "Question")) return kTriviaqa;
  if (has(record, "question_id") && has_object(record, "answer")) return kTriviaqa;
  if (has(record, "query_id") && has(record, "query")) return kMsMarco;
  if (has_object(record, "question") && has(record, "annotations")) return kNaturalQuestions;
  if (has(record, "possible_answers")) return kPopqa;
  if (has(record, "positive_ctxs")) return kDpr;
  if (has(record, "paragraphs") && has(record, "question")) return kMusique;
  return std::nullopt;
}

}  // namespace

std::optional<DatasetFormat> detect_format(const Json& record) {
  // The first row that has any of its fields; from the most telling field to the least.
  struct Sign {
    DatasetFormat format;
    std::string_view field;
  };
  constexpr Sign kSigns[] = {{DatasetFormat::kHotpotqa, "supporting_facts"},
                             {DatasetFormat::kLostInTheMiddle, "ctxs"},
                             {DatasetFormat::kKilt, "input"},
                             {DatasetFormat::kKilt, "query"},
                             {DatasetFormat::kKilt, "output"},
                             {DatasetFormat::kKilt, "answer"},
                             {DatasetFormat::kKilt, "passage"},
                             {DatasetFormat::kBuoy, "id"},
                             {DatasetFormat::kKilt, "answers"}};
  if (!record.is_object()) return std::nullopt;
  if (const auto known = detect_public(record)) return known;
  for (const Sign& sign : kSigns) {
    if (has(record, sign.field)) return sign.format;
  }
  return std::nullopt;
}

bool holds_records(const Json& value) {
  if (!value.is_object()) return false;
  for (const char* list : {"data", "Data"}) {
    const auto found = value.find(list);
    if (found != value.end() && found->is_array()) return true;
  }
  return has_object(value, "query") && has(value, "query_id");
}

QaItem parse_record(DatasetFormat format, const DatasetRecord& record) {
  QaItem item = row_of(format).parse(record);
  if (item.question.empty()) {
    const bool kilt = format == DatasetFormat::kKilt && record.value->contains("output");
    fail("{}: the question is empty{}", record.place,
         kilt ? " (KILT leaves TriviaQA's questions out; its own script fills them in)" : "");
  }
  if (item.answers.empty()) fail("{}: has no answer, expected at least one", record.place);
  return item;
}

namespace {

// MS MARCO's columns, {"query": {"0": …}, "answers": {"0": …}, …}, as a list of records.
Json rows_of_columns(const Json& document) {
  std::map<std::string, Json> rows;
  std::vector<std::string> order;
  for (const auto& [name, column] : document.items()) {
    if (!column.is_object()) continue;
    for (const auto& [key, value] : column.items()) {
      const auto [row, is_new] = rows.try_emplace(key, Json::object());
      if (is_new) order.push_back(key);
      row->second[name] = value;
    }
  }
  Json list = Json::array();
  for (const std::string& key : order) list.push_back(std::move(rows[key]));
  return list;
}

// Not a text of its own, but words enough to be a passage's.
bool is_long(const Json& value) {
  constexpr std::size_t kWords = 40;
  return value.is_string() && value.get_ref<const std::string&>().size() >= kWords;
}

bool holds_texts(const Json& value) {
  if (is_long(value)) return true;
  if (value.is_array()) return !value.empty() && holds_texts(value.front());
  if (!value.is_object()) return false;
  return std::ranges::any_of(value, [](const Json& inner) { return holds_texts(inner); });
}

}  // namespace

std::vector<std::string> unread_texts(const Json& record) {
  constexpr std::string_view kNoPassages[] = {"id",
                                              "_id",
                                              "task",
                                              "question",
                                              "query",
                                              "input",
                                              "answer",
                                              "answers",
                                              "output",
                                              "generator",
                                              "meta",
                                              "supporting_facts",
                                              "question_decomposition"};
  std::vector<std::string> names;
  if (!record.is_object()) return names;
  for (const auto& [name, value] : record.items()) {
    if (std::ranges::find(kNoPassages, name) == std::end(kNoPassages) && holds_texts(value)) {
      names.push_back(name);
    }
  }
  return names;
}

Json with_rows(Json document) {
  return has_object(document, "query") ? rows_of_columns(document) : document;
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
  if (document.is_object() && document.contains("Data")) {
    for (const Json& value : list_of(JsonObject(document, place), "Data")) add({.value = &value});
    return records;
  }
  if (!document.is_object() || !document.contains("data")) {
    fail(
        "{}: is {} as a whole, expected a list of records, SQuAD's \"data\", TriviaQA's \"Data\" or MS "
        "MARCO's "
        "columns",
        place, kind_of(document));
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
