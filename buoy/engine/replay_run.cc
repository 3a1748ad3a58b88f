#include "buoy/engine/replay_run.h"

#include <algorithm>
#include <map>

#include "buoy/base/error.h"
#include "buoy/corpus/posting_search.h"
#include "buoy/engine/rank_observer.h"
#include "buoy/engine/replay_retrieval.h"
#include "buoy/engine/run_tables.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

std::vector<const Event*> questions_in(std::span<const Event> events) {
  std::vector<const Event*> questions;
  for (const Event& event : events) {
    if (event.kind == EventKind::kAsk) questions.push_back(&event);
  }
  return questions;
}

RunIdentity identify_stream(const ReplaySettings& settings, const ReplayConditions& conditions,
                            std::span<const Event> events) {
  Json json = describe_run(settings.run);
  json["verb"] = "replay";
  json["code"]["ranking"] = kRankingCode;
  json["data"][conditions.data] = "by question, with all events before it";
  json["passages"][conditions.main] = "";
  if (!conditions.control.empty()) json["passages"][conditions.control] = "";
  if (settings.trace) json["trace"] = to_json(*settings.trace);
  RunIdentity identity{.settings = std::move(json), .growing = {"models", "data", "passages"}, .items = {}};
  const std::vector<std::string> hashes = hash_questions(events);
  const std::vector<const Event*> questions = questions_in(events);
  for (std::size_t i = 0; i < questions.size(); ++i)
    identity.items.push_back({conditions.data, questions[i]->id, hashes[i]});
  return identity;
}

QaItem item_of(const Event& question, const std::vector<QaPassage>& passages) {
  return {.id = question.id,
          .task = "replay",
          .question = question.question,
          .answers = question.answers,
          .passages = passages};
}

RunPlan plan_stream(const ReplaySettings& settings, const ReplayConditions& conditions,
                    const NamedModel& model, const std::vector<const Event*>& questions,
                    const ReplayPassages& passages) {
  RunPlan plan{.variants = {{.sampler = settings.run.sampler_of(model.given)}}, .items = {}};
  for (const std::string& condition : {conditions.main, conditions.control}) {
    for (std::size_t i = 0; i < questions.size() && !condition.empty(); ++i) {
      const auto found = passages.find({condition, questions[i]->id});
      if (found == passages.end()) continue;
      plan.items.push_back({.key = {model.name, conditions.data, condition, questions[i]->id},
                            .number = static_cast<Index>(i),
                            .item = item_of(*questions[i], found->second)});
    }
  }
  return plan;
}

// The passages of every prompt that was answered, also of conditions that this command does not ask for.
ReplayPassages given_passages(const RunStore& store, const ReplayConditions& conditions) {
  const RunReader reader(store.path());
  ReplayPassages given;
  for (const RunKey& key : store.done()) {
    const std::pair place{key.condition, key.sample};
    if (key.data == conditions.data && !given.contains(place))
      given[place] = reader.detail(key).input.passages;
  }
  return given;
}

// What was answered, question by question, with what was seen; of this stream's questions only.
std::vector<ReplaySample> collect_samples(const RunStore& store, const ReplayConditions& conditions,
                                          const std::vector<const Event*>& questions,
                                          const ReplayPassages& given, const PassageStandings& standings) {
  std::map<std::string, Index> places;
  for (std::size_t i = 0; i < questions.size(); ++i) places[questions[i]->id] = static_cast<Index>(i);
  std::map<RunKey, Measurements> seen;
  store.each_seen([&](const SampleResult& r) { seen[r.key] = r.seen; });
  std::map<RunKey, std::string> answers;
  const std::vector<SampleResult> results = store.results();
  for (const SampleResult& r : results) answers[r.key] = r.answer;
  std::vector<ReplaySample> samples;
  for (const SampleResult& r : results) {
    const auto place = places.find(r.key.sample);
    if (r.key.data != conditions.data || r.key.condition != conditions.main || place == places.end())
      continue;
    ReplaySample sample{
        .model = r.key.model, .question = place->second, .answer = r.answer, .passages = {}, .control = {}};
    for (const QaPassage& passage : given.at({r.key.condition, r.key.sample}))
      sample.passages.push_back(standings.at(r.key.sample).at(passage.id));
    if (const auto found = seen.find(r.key); found != seen.end()) sample.seen = found->second;
    if (!conditions.control.empty()) {
      const auto control = answers.find({r.key.model, r.key.data, conditions.control, r.key.sample});
      const bool same = std::ranges::none_of(sample.passages, is_stale);
      if (control != answers.end()) {
        sample.control = control->second;
      } else if (same) {
        sample.control = r.answer;
      }
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

// samples.jsonl of an evaluation, each line with what the stream says of its question.
void write_replay_samples(const RunSettings& settings, const RunStore& store, std::span<const Event> events,
                          const PassageStandings& standings) {
  if (!settings.log_samples && !settings.log_ids) return;
  std::map<std::string, Index> places;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind == EventKind::kAsk) places[events[i].id] = static_cast<Index>(i);
  }
  const std::string lines = samples_jsonl(RunReader(store.path()));
  std::string out;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    Json json = parse_json(std::string_view(lines).substr(at, end - at), "samples.jsonl");
    at = end + 1;
    const auto found = places.find(json["id"].get<std::string>());
    if (found == places.end()) continue;
    const Event& event = events[static_cast<std::size_t>(found->second)];
    const std::string answer = json["answer"];
    for (Json& passage : json["passages"]) {
      const ReplayPassage& standing = standings.at(event.id).at(passage["id"].get<std::string>());
      passage["id"] = standing.id;
      passage["version"] = standing.version;
      passage["role"] = standing.role;
    }
    json["event"] = found->second + 1;
    if (event.time) json["time"] = *event.time;
    json["about"] = event.about;
    json["outdated"] = event.outdated;
    json["rumoured"] = event.rumoured;
    if (!event.outdated.empty())
      json["follows_outdated"] = follows(answer, event.outdated, event.answers) ? 1 : 0;
    if (!event.rumoured.empty())
      json["follows_rumour"] = follows(answer, event.rumoured, event.answers) ? 1 : 0;
    const Json seconds = json["seconds"];  // last, as in an evaluation: all that differs between two runs
    json.erase("seconds");
    json["seconds"] = seconds;
    out += json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  write_file_atomically(settings.output / "samples.jsonl", out);
}

}  // namespace

std::optional<ReplayedRun> run_replay(Ranks& ranks, const ReplaySettings& settings, RunObserver& watching) {
  RankObserver observer(ranks, watching);
  if (settings.top < 1) fail_usage("top: got {}, expected 1 or more", settings.top);
  ReplayedRun made{.output = {}, .events = read_events(settings.events, settings.run.data.limit)};
  const ReplayConditions conditions = conditions_of(settings);
  const std::vector<const Event*> questions = questions_in(made.events);
  ReplayPassages passages;
  RunWork work;
  work.identity = identify_stream(settings, conditions, made.events);
  work.plan = [&](const NamedModel& model) {
    return plan_stream(settings, conditions, model, questions, passages);
  };
  work.gather = [&](RunStore& store) {
    return to_json(retrieve_stream(store, conditions, made.events, observer));
  };
  work.take = [&](const Json& gathered) { passages = retrieved_from_json(gathered); };
  if (settings.trace) work.trace = &*settings.trace;
  RunSettings run = settings.run;
  const std::unique_ptr<RunStore> store = answer_all(ranks, run, work, observer);
  if (!store) return std::nullopt;
  made.output = run.output;
  const ReplayPassages given = given_passages(*store, conditions);
  const PassageStandings standings = standings_of(made.events, given);
  made.samples = collect_samples(*store, conditions, questions, given, standings);
  made.table = make_replay_table(made.events, made.samples, models_of(*store));
  made.about = about_run(RunReader(store->path())).dump();
  write_replay_samples(run, *store, made.events, standings);
  return made;
}

}  // namespace buoy
