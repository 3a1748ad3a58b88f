#include "study/dataset.h"

#include <fstream>
#include <set>

#include "base/error.h"
#include "io/json.h"
#include "text/utf8.h"

namespace buoy {
namespace {

const Json& list_of(const JsonObject& object, std::string_view key) {
  const Json* list = object.find(key);
  if (list == nullptr) fail("{}: \"{}\" is missing", object.place(), key);
  if (!list->is_array()) fail("{}: \"{}\" is {}, expected a list", object.place(), key, kind_of(*list));
  return *list;
}

std::vector<TextSpan> parse_spans(const JsonObject& object, std::string_view key, Index length) {
  std::vector<TextSpan> spans;
  if (!object.has(key)) return spans;
  for (const Json& pair : list_of(object, key)) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() ||
        !pair[1].is_number_integer()) {
      fail("{}: \"{}\" holds {}, expected pairs [begin, end]", object.place(), key, pair.dump());
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

QaPassage parse_passage(const Json& json, const std::string& place) {
  const JsonObject object(json, place);
  QaPassage passage{.title = object.string_or("title", ""),
                    .text = object.string("text"),
                    .gold = object.boolean_or("gold", false)};
  passage.evidence = parse_spans(object, "evidence", count_code_points(passage.text));
  return passage;
}

QaItem parse_item(const Json& json, const std::string& place) {
  const JsonObject object(json, place);
  QaItem item{
      .id = object.string("id"), .task = object.string_or("task", ""), .question = object.string("question")};
  for (const Json& answer : list_of(object, "answers")) {
    if (!answer.is_string()) fail("{}: \"answers\" holds {}, expected strings", place, kind_of(answer));
    item.answers.push_back(answer.get<std::string>());
  }
  if (item.answers.empty()) fail("{}: \"answers\" is empty, expected at least one", place);
  if (!object.has("passages")) return item;
  for (const Json& passage : list_of(object, "passages")) {
    item.passages.push_back(
        parse_passage(passage, fmt::format("{}: passage {}", place, item.passages.size() + 1)));
  }
  return item;
}

}  // namespace

std::vector<QaItem> read_dataset(const std::filesystem::path& path, std::optional<Index> limit) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) fail("{}: cannot be read", path.string());
  std::vector<QaItem> items;
  std::set<std::string> ids;
  Index number = 0;
  for (std::string line; (!limit || std::ssize(items) < *limit) && std::getline(file, line);) {
    const std::string place = fmt::format("{}: line {}", path.string(), ++number);
    if (line.empty()) fail("{}: is empty, expected an item", place);
    items.push_back(parse_item(parse_json(line, place), place));
    if (!ids.insert(items.back().id).second)
      fail("{}: the id {} occurs twice", place, quote(items.back().id));
  }
  if (file.bad()) fail("{}: reading failed after line {}", path.string(), number);
  if (items.empty()) fail("{}: holds no items", path.string());
  return items;
}

}  // namespace buoy
