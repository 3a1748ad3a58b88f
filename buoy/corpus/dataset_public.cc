// Public question-answering sets, each in the layout it was published in and in that of the Hub's rows.
#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/corpus/dataset_fields.h"

namespace buoy {
namespace {

// A string, or nothing where the entry is null or no string.
std::string text_or_empty(const Json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

// An entry of a column of flags: 1, true.
bool is_set(const Json& value) {
  return (value.is_boolean() && value.get<bool>()) || (value.is_number_integer() && value.get<Index>() != 0);
}

// The Hub's SQuAD: {"id", "title", "context", "question", "answers": {"text": […], "answer_start": […]}}.
QaItem parse_squad_row(const JsonObject& object) {
  QaItem item{.id = id_of(object, "id"), .question = object.string("question")};
  const JsonObject answers = object_in(object, "answers");
  add_answers(item, answers, "text");
  if (list_of(answers, "text").empty()) set_unanswerable(item);  // as SQuAD 2.0 has it
  item.passages.push_back(
      {.title = object.string_or("title", ""), .text = object.string("context"), .gold = true});
  return item;
}

// Title and number of the sentence; pairs, or the Hub's two columns.
std::vector<std::pair<std::string, Index>> supporting_facts(const JsonObject& object) {
  std::vector<std::pair<std::string, Index>> facts;
  const Json* found = object.find("supporting_facts");
  if (found == nullptr) fail("{}: \"supporting_facts\" is missing", object.place());
  const auto add = [&](const Json& title, const Json& sentence, const Json& whole) {
    if (!title.is_string() || !sentence.is_number_integer()) {
      fail("{}: \"supporting_facts\" holds {}, expected pairs [title, sentence]", object.place(),
           kind_of(whole));
    }
    facts.emplace_back(title.get<std::string>(), sentence.get<Index>());
  };
  if (found->is_object()) {
    const JsonObject columns(*found, object.place() + ": \"supporting_facts\"");
    const Json& titles = list_of(columns, "title");
    for (std::size_t i = 0; i < titles.size(); ++i)
      add(titles[i], entry(columns.find("sent_id"), i), titles[i]);
    return facts;
  }
  for (const Json& fact : list_of(object, "supporting_facts")) {
    const bool pair = fact.is_array() && fact.size() == 2;
    add(pair ? fact[0] : Json(), pair ? fact[1] : Json(), fact);
  }
  return facts;
}

// Titles and lists of sentences; pairs, or the Hub's two columns.
std::vector<std::pair<std::string, Json>> paragraphs_of(const JsonObject& object) {
  std::vector<std::pair<std::string, Json>> paragraphs;
  const Json* found = object.find("context");
  const auto add = [&](const Json& title, const Json& sentences, const Json& whole) {
    if (!title.is_string() || !sentences.is_array()) {
      fail("{}: \"context\" holds {}, expected pairs [title, sentences]", object.place(), kind_of(whole));
    }
    paragraphs.emplace_back(title.get<std::string>(), sentences);
  };
  if (found != nullptr && found->is_object()) {
    const JsonObject columns(*found, object.place() + ": \"context\"");
    const Json& titles = list_of(columns, "title");
    for (std::size_t i = 0; i < titles.size(); ++i)
      add(titles[i], entry(columns.find("sentences"), i), titles[i]);
    return paragraphs;
  }
  for (const Json& paragraph : list_of(object, "context")) {
    const bool pair = paragraph.is_array() && paragraph.size() == 2;
    add(pair ? paragraph[0] : Json(), pair ? paragraph[1] : Json(), paragraph);
  }
  return paragraphs;
}

// One column of texts with its titles, as the Hub's TriviaQA has them.
void add_columns(QaItem& item, const JsonObject& record, std::string_view columns, std::string_view text) {
  if (!record.has(columns)) return;
  const JsonObject object = object_in(record, columns);
  const Json& texts = list_or_empty(object, text);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (text_or_empty(texts[i]).empty()) continue;
    item.passages.push_back({.title = text_or_empty(entry(object.find("title"), i)),
                             .text = texts[i].get<std::string>(),
                             .id = text_or_empty(entry(object.find("filename"), i))});
  }
}

QaItem parse_triviaqa_row(const JsonObject& object) {
  QaItem item{.id = id_of(object, "question_id"), .question = object.string("question")};
  const JsonObject answer = object_in(object, "answer");
  add_answers(item, answer, "value");
  add_answers(item, answer, "aliases");
  add_columns(item, object, "entity_pages", "wiki_context");
  add_columns(item, object, "search_results", "search_context");
  if (item.passages.empty()) add_columns(item, object, "search_results", "description");
  return item;
}

// Passages as a list of objects, or as the Hub's columns.
void add_marco_passages(QaItem& item, const JsonObject& object) {
  const Json* found = object.find("passages");
  if (found == nullptr) return;
  const auto add = [&](const Json& text, const Json& selected, const Json& url) {
    if (!text.is_string()) fail("{}: \"passage_text\" is missing", passage_place(object, item));
    item.passages.push_back(
        {.text = text.get<std::string>(), .gold = is_set(selected), .id = text_or_empty(url)});
  };
  if (found->is_object()) {
    const JsonObject columns(*found, object.place() + ": \"passages\"");
    const Json& texts = list_of(columns, "passage_text");
    for (std::size_t i = 0; i < texts.size(); ++i)
      add(texts[i], entry(columns.find("is_selected"), i), entry(columns.find("url"), i));
    return;
  }
  for (const Json& json : list_of(object, "passages")) {
    const JsonObject passage(json, passage_place(object, item));
    const auto field = [&](std::string_view key) {
      const Json* value = passage.find(key);
      return value == nullptr ? Json() : *value;
    };
    add(field("passage_text"), field("is_selected"), field("url"));
  }
}

// The words of a page from one token to another, without its HTML.
std::string words_between(const JsonObject& tokens, Index begin, Index end) {
  std::string text;
  const Json& words = list_of(tokens, "token");
  for (Index i = std::max<Index>(0, begin); i < std::min(end, std::ssize(words)); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (is_set(entry(tokens.find("is_html"), at)) || !words[at].is_string()) continue;
    text += (text.empty() ? "" : " ") + words[at].get<std::string>();
  }
  return text;
}

// The long answers that annotators marked: gold passages of the page.
void add_long_answers(QaItem& item, const JsonObject& object, const JsonObject& annotations) {
  const Json* page = object.find("document");
  if (page == nullptr) return;
  const JsonObject document(*page, object.place() + ": \"document\"");
  const Json* tokens = document.find("tokens");
  if (tokens == nullptr) return;
  for (const Json& json : list_or_empty(annotations, "long_answer")) {
    const JsonObject answer(json, object.place() + ": \"long_answer\"");
    const Index begin = answer.integer_or("start_token", -1), end = answer.integer_or("end_token", -1);
    if (begin < 0 || end <= begin) continue;
    std::string text = words_between(JsonObject(*tokens, document.place()), begin, end);
    const bool there = std::ranges::find(item.passages, text, &QaPassage::text) != item.passages.end();
    if (text.empty() || there) continue;
    item.passages.push_back(
        {.title = document.string_or("title", ""), .text = std::move(text), .gold = true});
  }
}

void add_contexts(QaItem& item, const JsonObject& object, std::string_view key, bool gold) {
  for (const Json& json : list_or_empty(object, key)) {
    const JsonObject passage(json, passage_place(object, item));
    item.passages.push_back({.title = passage.string_or("title", ""),
                             .text = passage.string("text"),
                             .gold = gold,
                             .id = id_of(passage, first_of(passage, {"passage_id", "psg_id"}))});
  }
}

}  // namespace

QaItem parse_squad(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  if (record.paragraph == nullptr) {
    const Json* answers = object.find("answers");
    if (answers != nullptr && answers->is_object()) return parse_squad_row(object);
    fail("{}: is neither inside one of SQuAD's articles nor a row of the Hub's", record.place);
  }
  const JsonObject paragraph(*record.paragraph, record.place), article(*record.article, record.place);
  QaItem item{.id = id_of(object, "id"), .question = object.string("question")};
  for (const Json& json : list_of(object, "answers")) {
    add_answer(item, JsonObject(json, record.place + ": \"answers\"").string("text"));
  }
  if (object.boolean_or("is_impossible", false)) set_unanswerable(item);
  item.passages.push_back(
      {.title = article.string_or("title", ""), .text = paragraph.string("context"), .gold = true});
  return item;
}

QaItem parse_hotpotqa(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  QaItem item{.id = id_of(object, first_of(object, {"_id", "id"})),
              .task = object.string_or("type", ""),
              .question = object.string("question")};
  add_answers(item, object, "answer");
  const auto facts = supporting_facts(object);
  for (const auto& [title, sentences] : paragraphs_of(object)) {
    std::vector<Index> wanted;
    for (const auto& [about, sentence] : facts) {
      if (about == title) wanted.push_back(sentence);
    }
    QaPassage passage = join_sentences(sentences, wanted, object);
    passage.title = title;
    passage.gold = !wanted.empty();
    item.passages.push_back(std::move(passage));
  }
  return item;
}

QaItem parse_triviaqa(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  if (object.has("question")) return parse_triviaqa_row(object);
  QaItem item{.id = id_of(object, "QuestionId"), .question = object.string("Question")};
  const JsonObject answer = object_in(object, "Answer");
  add_answers(item, answer, "Value");
  add_answers(item, answer, "Aliases");
  for (const Json& json : list_or_empty(object, "SearchResults")) {
    const JsonObject result(json, passage_place(object, item));
    if (result.string_or("Description", "").empty()) continue;
    item.passages.push_back({.title = result.string_or("Title", ""),
                             .text = result.string("Description"),
                             .id = result.string_or("Filename", "")});
  }
  return item;
}

QaItem parse_ms_marco(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  QaItem item{.id = id_of(object, "query_id"),
              .task = object.string_or("query_type", ""),
              .question = object.string("query")};
  add_answers(item, object, "answers");
  // MARCO's way of saying that there is no answer.
  if (item.answers == std::vector<std::string>{"No Answer Present."}) set_unanswerable(item);
  add_marco_passages(item, object);
  return item;
}

QaItem parse_natural_questions(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  const JsonObject question = object_in(object, "question"), annotations = object_in(object, "annotations");
  QaItem item{.id = id_of(object, "id"), .question = question.string("text")};
  for (const Json& json : list_or_empty(annotations, "short_answers")) {
    add_answers(item, JsonObject(json, record.place + ": \"short_answers\""), "text");
  }
  for (const Json& yes_no : list_or_empty(annotations, "yes_no_answer")) {
    if (yes_no == 1) add_answer(item, "yes");
    if (yes_no == 0) add_answer(item, "no");
  }
  if (item.answers.empty()) set_unanswerable(item);  // no annotator found a short answer
  add_long_answers(item, object, annotations);
  return item;
}

QaItem parse_popqa(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  QaItem item{
      .id = id_of(object, "id"), .task = object.string_or("prop", ""), .question = object.string("question")};
  const Json* found = object.find("possible_answers");
  if (found == nullptr) fail("{}: \"possible_answers\" is missing", record.place);
  // A list, or a list written as text.
  const Json answers = found->is_string()
                           ? parse_json(found->get<std::string>(), record.place + ": \"possible_answers\"")
                           : *found;
  if (!answers.is_array())
    fail("{}: \"possible_answers\" is {}, expected a list", record.place, kind_of(answers));
  for (const Json& answer : answers) add_answer(item, string_in(answer, object, "possible_answers"));
  return item;
}

QaItem parse_dpr(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  QaItem item{.id = id_of(object, "id"), .question = object.string("question")};
  add_answers(item, object, "answers");
  add_contexts(item, object, "positive_ctxs", true);
  add_contexts(item, object, "hard_negative_ctxs", false);
  add_contexts(item, object, "negative_ctxs", false);
  return item;
}

QaItem parse_musique(const DatasetRecord& record) {
  const JsonObject object(*record.value, record.place);
  const std::string id = id_of(object, "id");
  // "2hop__123_456": how many facts must be put together.
  QaItem item{.id = id,
              .task = id.substr(0, std::min(id.find("__"), id.size())),
              .question = object.string("question")};
  add_answers(item, object, "answer");
  add_answers(item, object, "answer_aliases");
  if (!object.boolean_or("answerable", true)) set_unanswerable(item);
  for (const Json& json : list_of(object, "paragraphs")) {
    const JsonObject passage(json, passage_place(object, item));
    item.passages.push_back({.title = passage.string_or("title", ""),
                             .text = passage.string("paragraph_text"),
                             .gold = passage.boolean_or("is_supporting", false),
                             .id = id_of(passage, "idx")});
  }
  return item;
}

}  // namespace buoy
