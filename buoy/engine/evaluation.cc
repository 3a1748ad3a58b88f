#include "buoy/engine/evaluation.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/engine/rank_observer.h"
#include "buoy/engine/retrieval.h"
#include "buoy/engine/run_tables.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

std::vector<Condition> read_conditions(const EvaluationSettings& settings) {
  std::vector<Condition> conditions;
  for (const std::string& text : settings.passages) {
    conditions.push_back(parse_condition(text));
    const auto same = [&](const Condition& c) { return c.name() == conditions.back().name(); };
    if (std::ranges::count_if(conditions, same) > 1) fail_usage("passages: {} is given twice", text);
  }
  if (!settings.collection.empty()) {
    conditions.push_back({.kind = Condition::Kind::kRetrieved, .count = settings.top});
  }
  return conditions;
}

// Everything that a run works on, the same on every rank.
struct EvaluationPlan {
  std::vector<NamedItems> data;
  std::vector<Condition> conditions;
  Retrieved retrieved;  // for the condition that retrieves
};

RunIdentity identify(const EvaluationSettings& settings, const EvaluationPlan& plan) {
  Json json = describe_run(settings.run);
  json["verb"] = "eval";
  for (const NamedItems& set : plan.data) json["data"][set.name] = "by item";
  for (const Condition& c : plan.conditions) {
    const bool retrieves = c.kind == Condition::Kind::kRetrieved;
    json["passages"][c.name()] = retrieves ? settings.collection.filename().string() : "";
  }
  if (settings.trace) json["trace"] = to_json(*settings.trace);
  return {.settings = std::move(json),
          .growing = {"models", "data", "passages"},
          .items = identify_items(plan.data)};
}

// Where no item has passages, "given" and "first 3" are what "none" is, and that is run once.
bool repeats_none(const EvaluationPlan& plan, const NamedItems& set, const Condition& condition) {
  using enum Condition::Kind;
  const auto is_none = [](const Condition& c) { return c.kind == kNone; };
  const auto has_none = [](const QaItem& item) { return item.passages.empty(); };
  return (condition.kind == kGiven || condition.kind == kFirst) &&
         std::ranges::any_of(plan.conditions, is_none) && std::ranges::all_of(set.items, has_none);
}

// What conditions that take an item's own passages find of them.
void tell_missing(const EvaluationPlan& plan, RunObserver& observer) {
  using enum Condition::Kind;
  for (const NamedItems& set : plan.data) {
    const auto bare =
        std::ranges::count_if(set.items, [](const QaItem& item) { return item.passages.empty(); });
    for (const Condition& c : plan.conditions) {
      if (bare == 0 || (c.kind != kGiven && c.kind != kFirst)) continue;
      if (repeats_none(plan, set, c)) {
        observer.warn(fmt::format("{}: no item has passages: {} would repeat none and is left out", set.name,
                                  c.name()));
      } else {
        observer.warn(fmt::format("{}: {} of {} items have no passages: under {} they are asked without any",
                                  set.name, bare, set.items.size(), c.name()));
      }
    }
  }
}

RunPlan plan_questions(const EvaluationSettings& settings, const NamedModel& model,
                       const EvaluationPlan& plan) {
  RunPlan run{.variants = {{.sampler = settings.run.sampler_of(model.given)}}, .items = {}};
  for (const NamedItems& set : plan.data) {
    for (const Condition& condition : plan.conditions) {
      if (repeats_none(plan, set, condition)) continue;
      for (std::size_t i = 0; i < set.items.size(); ++i) {
        const QaItem& item = set.items[i];
        const Retrieve retrieve = [&](const std::string&, Index) {
          return plan.retrieved.at({set.name, item.id});
        };
        run.items.push_back({.key = {model.name, set.name, condition.name(), item.id},
                             .number = static_cast<Index>(i),
                             .item = under(condition, item, retrieve)});
      }
    }
  }
  return run;
}

// Rank 0 retrieves, all ranks take what it found.
void retrieve_for_all(const EvaluationSettings& settings, EvaluationPlan& plan, RunWork& work) {
  if (settings.collection.empty()) return;
  work.gather = [&](RunStore& store) {
    return to_json(retrieve_once(store, plan.conditions.back(), settings.collection, plan.data));
  };
  work.take = [&](const Json& gathered) { plan.retrieved = retrieved_from_json(gathered); };
}

}  // namespace

std::optional<EvaluatedRun> run_evaluation(Ranks& ranks, const EvaluationSettings& settings,
                                           RunObserver& watching) {
  RankObserver observer(ranks, watching);
  check_own_settings(settings.run);
  const auto warn = [&](const std::string& line) { observer.warn(line); };
  EvaluationPlan plan{.data = read_data(settings.run.data, settings.run.places, warn, &observer),
                      .conditions = read_conditions(settings),
                      .retrieved = {}};
  tell_missing(plan, observer);
  RunWork work;
  work.identity = identify(settings, plan);
  work.plan = [&](const NamedModel& model) { return plan_questions(settings, model, plan); };
  retrieve_for_all(settings, plan, work);
  if (settings.trace) work.trace = &*settings.trace;
  RunSettings run = settings.run;
  const std::unique_ptr<RunStore> store = answer_all(ranks, run, work, observer);
  if (!store) return std::nullopt;
  EvaluatedRun made{.output = run.output, .data = std::move(plan.data), .results = store->results()};
  made.table = make_score_table(made.results, order_of_run(store->settings()));
  made.about = about_run(RunReader(store->path())).dump();
  if (settings.trace) {
    made.seen = seen_table(*store);
    made.seen_layer_means = seen_layer_means(*store);
  }
  write_samples(run, *store);
  return made;
}

}  // namespace buoy
