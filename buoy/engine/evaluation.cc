#include "buoy/engine/evaluation.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/corpus/collection.h"
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

// Passages from the collection, best first.
Retrieve retriever(std::optional<Collection>& collection) {
  return [&collection](const std::string& question, Index top) {
    std::vector<QaPassage> passages;
    for (const Hit& hit : collection->search(question, top)) {
      passages.push_back({.title = hit.document.title, .text = hit.document.text});
    }
    return passages;
  };
}

// Everything that a run works on, the same on every rank.
struct EvaluationPlan {
  std::vector<NamedItems> data;
  std::vector<Condition> conditions;
  std::optional<Collection> collection;
};

Json described(const EvaluationSettings& settings, const EvaluationPlan& plan) {
  Json json = describe_run(settings.run, plan.data);
  for (const Condition& c : plan.conditions) json["passages"].push_back(c.name());
  if (plan.collection) {
    json["collection"] = {{"name", plan.collection->path().filename().string()},
                          {"documents", plan.collection->count()}};
  }
  if (settings.trace) json["trace"] = to_json(*settings.trace);
  return json;
}

// Where no item has passages, "given" and "first 3" are what "none" is, and that is run once.
bool repeats_none(const EvaluationPlan& plan, const NamedItems& set, const Condition& condition) {
  using enum Condition::Kind;
  const auto is_none = [](const Condition& c) { return c.kind == kNone; };
  const auto has_none = [](const QaItem& item) { return item.passages.empty(); };
  return (condition.kind == kGiven || condition.kind == kFirst) &&
         std::ranges::any_of(plan.conditions, is_none) && std::ranges::all_of(set.items, has_none);
}

void tell_repeats(const EvaluationPlan& plan, RunObserver& observer) {
  for (const NamedItems& set : plan.data) {
    for (const Condition& c : plan.conditions) {
      if (repeats_none(plan, set, c)) {
        observer.warn(fmt::format("{}: no item has passages: {} would repeat none and is left out", set.name,
                                  c.name()));
      }
    }
  }
}

RunPlan plan_jobs(const TracingModel& model, EvaluationPlan& plan) {
  RunPlan run{.sources = {model.source()}, .jobs = {}};
  const Retrieve retrieve = retriever(plan.collection);
  for (const NamedItems& set : plan.data) {
    for (const Condition& condition : plan.conditions) {
      if (repeats_none(plan, set, condition)) continue;
      for (std::size_t i = 0; i < set.items.size(); ++i) {
        run.jobs.push_back(make_job(model, {model.name(), set.name, condition.name(), set.items[i].id},
                                    static_cast<Index>(i), under(condition, set.items[i], retrieve)));
      }
    }
  }
  return run;
}

}  // namespace

std::optional<EvaluatedRun> run_evaluation(Ranks& ranks, const EvaluationSettings& settings,
                                           RunObserver& observer) {
  const std::vector<NamedModel> models = read_models(settings.run);
  const auto warn = [&](const std::string& line) { observer.warn(line); };
  EvaluationPlan plan{.data = read_data(settings.run.data, settings.run.places, warn),
                      .conditions = read_conditions(settings),
                      .collection = {}};
  if (!settings.collection.empty()) plan.collection.emplace(settings.collection);
  if (ranks.leads()) tell_repeats(plan, observer);
  RunWork work;
  work.plan = [&](const TracingModel& model) { return plan_jobs(model, plan); };
  if (settings.trace) work.trace = &*settings.trace;
  const std::unique_ptr<RunStore> store =
      answer_all(ranks, settings.run, described(settings, plan), work, observer);
  if (!store) return std::nullopt;
  ScoreOrder order;
  for (const NamedModel& m : models) order.models.push_back(m.name);
  for (const NamedItems& d : plan.data) order.data.push_back(d.name);
  for (const Condition& c : plan.conditions) order.conditions.push_back(c.name());
  EvaluatedRun made;
  made.results = store->results();
  made.table = make_score_table(made.results, order);
  made.data = std::move(plan.data);
  if (settings.trace) {
    made.seen = seen_table(*store);
    made.seen_layer_means = seen_layer_means(*store);
  }
  write_samples(settings.run, made.results);
  return made;
}

}  // namespace buoy
