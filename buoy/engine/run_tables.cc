#include "buoy/engine/run_tables.h"

#include <algorithm>
#include <map>

#include "buoy/base/error.h"
#include "buoy/corpus/dataset_lines.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> members_of(const Json& settings, const char* name) {
  std::vector<std::string> names;
  if (!settings.contains(name)) return names;
  for (const auto& [member, value] : settings[name].items()) names.push_back(member);
  return names;
}

void append_new(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& name : more) {
    if (std::ranges::find(all, name) == all.end()) all.push_back(name);
  }
}

using Predictions = std::map<std::string, std::string>;

std::string prediction_in(const JsonObject& object) {
  for (const char* field : {"prediction", "predicted_answer", "answer", "output", "response"}) {
    const Json* found = object.find(field);
    if (found != nullptr && found->is_string()) return found->get<std::string>();
  }
  fail(
      "{}: has no answer as text, expected \"prediction\", \"predicted_answer\", \"answer\", \"output\" or "
      "\"response\"",
      object.place());
}

std::string id_in(const JsonObject& object) {
  for (const char* field : {"id", "_id", "question_id", "sample"}) {
    const Json* found = object.find(field);
    if (found != nullptr) return found->is_string() ? found->get<std::string>() : found->dump();
  }
  fail("{}: has no \"id\"", object.place());
}

Predictions from_records(const fs::path& path) {
  Predictions predictions;
  LineReader lines(path);
  while (const auto line = lines.next()) {
    const std::string place = fmt::format("{}: line {}", path.string(), lines.number());
    const Json json = parse_json(*line, place);
    const JsonObject object(json, place);
    if (!predictions.emplace(id_in(object), prediction_in(object)).second) {
      fail("{}: the id {} occurs twice", place, quote(id_in(object)));
    }
  }
  return predictions;
}

Predictions from_object(const Json& json, const std::string& place) {
  Predictions predictions;
  for (const auto& [id, answer] : json.items()) {
    if (!answer.is_string())
      fail("{}: the answer to {} is {}, expected text", place, quote(id), kind_of(answer));
    predictions[id] = answer.get<std::string>();
  }
  return predictions;
}

Predictions from_lines(const std::string& text, const std::string& place, const NamedItems& data) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (lines.size() != data.items.size()) {
    fail("{}: has {} lines, expected one answer for each of the {} items of {}", place, lines.size(),
         data.items.size(), data.name);
  }
  Predictions predictions;
  for (std::size_t i = 0; i < lines.size(); ++i) predictions[data.items[i].id] = lines[i];
  return predictions;
}

// What a file of predictions is, told by its begin.
Predictions read_predictions(const fs::path& path, const NamedItems& data) {
  const std::string text = read_file(path);
  if (const auto bad = find_invalid_utf8(text)) fail("{}: is not UTF-8 at byte {}", path.string(), *bad);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) fail("{}: is empty", path.string());
  if (text[first] != '{') return from_lines(text, path.string(), data);
  // What follows a NUL the library would not see.
  if (const std::size_t nul = text.find('\0'); nul != text.npos)
    fail("{}: not valid JSON: byte {} is NUL", path.string(), nul);
  const Json whole = Json::parse(text, nullptr, false);
  const bool one_value = !whole.is_discarded() && whole.is_object();
  const bool is_record = one_value && whole.contains("id") && whole.size() > 1;
  return one_value && !is_record ? from_object(whole, path.string()) : from_records(path);
}

}  // namespace

ScoreOrder order_of_run(const Json& settings) {
  ScoreOrder order{.models = members_of(settings, "models"),
                   .data = members_of(settings, "data"),
                   .conditions = members_of(settings, "passages")};
  for (const std::string& model : order.models) {
    const Json& described = settings["models"][model];
    const bool says =
        described.is_object() && described.contains("writes") && described["writes"].is_string();
    const std::string writes = says ? described["writes"].get<std::string>() : "";
    if (writes == "masked") order.masked.push_back(model);
    if (writes == "autoregressive") order.autoregressive.push_back(model);
  }
  return order;
}

Json about_run(const RunReader& run) {
  Json sessions = Json::array();
  for (Json& session : run.sessions()) sessions.push_back(std::move(session));
  return {{"settings", run.settings()}, {"sessions", sessions}, {"collections", run.collections()}};
}

MergedRuns merge_runs(std::span<const fs::path> runs) {
  MergedRuns made;
  Json about = Json::object();
  std::map<RunKey, std::pair<std::size_t, const fs::path*>> seen;
  for (const fs::path& path : runs) {
    const RunReader run(path);
    const Json settings = run.settings();
    if (const std::string verb = settings.value("verb", ""); verb != "eval") {
      fail("{}: is a run of {}, expected one of eval", run.path().string(), verb);
    }
    if (!settings.contains("passages") || !settings["passages"].is_object())
      fail("{}: the settings do not say of which passages the run is", run.path().string());
    const ScoreOrder order = order_of_run(settings);
    append_new(made.order.models, order.models);
    append_new(made.order.data, order.data);
    append_new(made.order.conditions, order.conditions);
    append_new(made.order.masked, order.masked);
    append_new(made.order.autoregressive, order.autoregressive);
    about["runs"][repair_utf8(path.string()).text] = about_run(run);
    for (SampleResult& result : run.results()) {
      const auto [at, is_new] = seen.try_emplace(result.key, made.results.size(), &path);
      if (is_new) {
        made.results.push_back(std::move(result));
        continue;
      }
      const SampleResult& before = made.results[at->second.first];
      if (before.answer != result.answer || before.prompt != result.prompt) {
        fail("{} and {} differ in what {} answered to {} of {} under {}: they are not parts of one table",
             at->second.second->string(), path.string(), result.key.model, quote(result.key.sample),
             result.key.data, result.key.condition);
      }
    }
  }
  made.about = about.dump();
  return made;
}

std::vector<SampleResult> score_predictions(const fs::path& path, const NamedItems& data,
                                            const WarningSink& warnings) {
  Predictions predictions = read_predictions(path, data);
  const auto given = std::ssize(predictions);
  std::vector<SampleResult> results;
  Index missing = 0;
  for (std::size_t i = 0; i < data.items.size(); ++i) {
    const QaItem& item = data.items[i];
    const auto found = predictions.find(item.id);
    if (found == predictions.end()) ++missing;
    SampleResult result;
    result.key = {path.stem().string(), data.name, "as given", item.id};
    result.number = static_cast<Index>(i);
    result.task = item.task;
    result.question = item.question;
    result.answer = found == predictions.end() ? "" : found->second;
    // An answer that is not there is wrong, also where the right one is to give none.
    if (found != predictions.end()) result.score = score_answer(result.answer, item.answers);
    if (found != predictions.end()) predictions.erase(found);
    results.push_back(std::move(result));
  }
  if (missing == std::ssize(data.items)) {
    fail("{}: answers none of the {} items of {}; their ids are like {}", path.string(), missing, data.name,
         quote(data.items.front().id));
  }
  if (missing > 0) {
    warn(warnings, fmt::format("{}: {} of {} items of {} are not answered and count as wrong", path.string(),
                               missing, data.items.size(), data.name));
  }
  if (!predictions.empty()) {
    warn(warnings,
         fmt::format("{}: {} of {} answers are to items that {} does not have, such as {}", path.string(),
                     predictions.size(), given, data.name, quote(predictions.begin()->first)));
  }
  return results;
}

}  // namespace buoy
