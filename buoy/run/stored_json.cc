#include "buoy/run/stored_json.h"

#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

constexpr Index kMostLayers = 4096;  // of layers and of heads, as in a trace

[[noreturn]] void fail_at(std::string_view place, std::string_view what, const Json& got,
                          std::string_view expected) {
  fail("{}: {} is {}, expected {}", place, what, kind_of(got), expected);
}

const Json& list_of(const Json& json, std::string_view place, std::string_view what,
                    std::string_view expected) {
  if (!json.is_array()) fail_at(place, what, json, expected);
  return json;
}

Index integer_of(const Json& json, std::string_view place, std::string_view what) {
  const bool fits = json.is_number_integer() &&
                    (!json.is_number_unsigned() || json.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
  if (!fits) fail_at(place, what, json, "a whole number");
  return json.get<Index>();
}

double number_of(const Json& json, std::string_view place, std::string_view what) {
  if (!json.is_number()) fail_at(place, what, json, "a number");
  return json.get<double>();
}

std::string text_of(const Json& json, std::string_view place, std::string_view what) {
  if (!json.is_string()) fail_at(place, what, json, "text");
  return json.get<std::string>();
}

// Of a layer or a head; -1: of none.
Index place_of(const Json& json, std::string_view place, std::string_view what) {
  const Index number = integer_of(json, place, what);
  if (number < -1 || number >= kMostLayers)
    fail("{}: {} is {}, expected -1 to {}", place, what, number, kMostLayers - 1);
  return number;
}

Measurement measurement_of(const Json& m, std::string_view place) {
  constexpr std::size_t kFields = 7;
  if (!m.is_array() || m.size() != kFields)
    fail("{}: a measurement is {} of {}, expected an array of {}", place, kind_of(m), m.size(), kFields);
  Measurement made{.quantity = text_of(m[0], place, "a measurement's quantity"),
                   .layer = place_of(m[1], place, "a measurement's layer"),
                   .head = place_of(m[2], place, "a measurement's head"),
                   .part = text_of(m[3], place, "a measurement's part"),
                   .value = number_of(m[4], place, "a measurement's value"),
                   .weight = number_of(m[5], place, "a measurement's weight")};
  if (!m[6].is_null()) made.null = number_of(m[6], place, "a measurement's null");
  return made;
}

TextSpan span_of(const Json& json, std::string_view place) {
  constexpr const char* kWhat = "a passage's evidence";
  if (!json.is_array() || json.size() != 2) fail_at(place, kWhat, json, "a begin and an end");
  const TextSpan span{integer_of(json[0], place, kWhat), integer_of(json[1], place, kWhat)};
  if (span.begin < 0 || span.end < span.begin)
    fail("{}: {} is {} to {}, expected a stretch of its text", place, kWhat, span.begin, span.end);
  return span;
}

QaPassage passage_of(const Json& json, const std::string& place) {
  const JsonObject object(json, place + ": a passage");
  QaPassage made{.title = object.string("title"),
                 .text = object.string("text"),
                 .gold = object.boolean("gold"),
                 .id = object.string("id")};
  if (object.has("score")) made.score = object.number("score");
  if (const Json* evidence = object.find("evidence")) {
    for (const Json& span : list_of(*evidence, place, "a passage's evidence", "a list"))
      made.evidence.push_back(span_of(span, place));
  }
  return made;
}

}  // namespace

std::vector<Index> stored_integers(std::string_view text, std::string_view place, std::string_view what) {
  std::vector<Index> numbers;
  const Json json = parse_json(text, place);
  for (const Json& number : list_of(json, place, what, "a list of whole numbers"))
    numbers.push_back(integer_of(number, place, what));
  return numbers;
}

std::vector<std::string> stored_texts(std::string_view text, std::string_view place, std::string_view what) {
  std::vector<std::string> texts;
  const Json json = parse_json(text, place);
  for (const Json& one : list_of(json, place, what, "a list of texts"))
    texts.push_back(text_of(one, place, what));
  return texts;
}

std::string measurements_to_json(const Measurements& measurements) {
  if (measurements.empty()) return "";
  Json list = Json::array();
  for (const Measurement& m : measurements) {
    list.push_back({m.quantity, m.layer, m.head, m.part, m.value, m.weight, m.null ? Json(*m.null) : Json()});
  }
  return list.dump();
}

Measurements measurements_from_json(std::string_view text, std::string_view place) {
  if (text.empty()) return {};
  Measurements measurements;
  const Json json = parse_json(text, place);
  for (const Json& m : list_of(json, place, "what was measured", "a list"))
    measurements.push_back(measurement_of(m, place));
  return measurements;
}

Json passages_to_json(std::span<const QaPassage> passages) {
  Json list = Json::array();
  for (const QaPassage& p : passages) {
    Json json = {{"id", p.id}, {"title", p.title}, {"text", p.text}, {"gold", p.gold}};
    for (const TextSpan& span : p.evidence) json["evidence"].push_back({span.begin, span.end});
    if (p.score) json["score"] = *p.score;
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<QaPassage> passages_from_json(const Json& json, std::string_view place) {
  std::vector<QaPassage> passages;
  for (const Json& p : list_of(json, place, "what was given to read", "a list of passages"))
    passages.push_back(passage_of(p, std::string(place)));
  return passages;
}

void check_stored_settings(const Json& settings, const std::string& place) {
  const JsonObject object(settings, place + ": the settings");
  object.string_or("verb", "");
  for (const char* key : {"models", "data"}) {
    const Json* members = object.find(key);
    if (members != nullptr && !members->is_object())
      fail("{}: \"{}\" is {}, expected an object", object.place(), key, kind_of(*members));
  }
}

}  // namespace buoy
