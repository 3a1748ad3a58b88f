#include "buoy/engine/intervention_run.h"

#include <algorithm>
#include <map>

#include "buoy/analysis/analyses.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/run/eval_table.h"

namespace buoy {
namespace {

Json described(const InterventionRunSettings& settings, std::span<const NamedItems> data,
               const InterventionPlan& conditions) {
  Json json = describe_run(settings.run, data);
  json["passages"] = settings.passages;
  json["where"] = to_json(settings.choice);
  for (const InterventionCondition& c : conditions.named) json["conditions"].push_back(c.name);
  if (settings.trace) json["trace"] = to_json(*settings.trace);
  return json;
}

RunPlan plan_jobs(const InterventionRunSettings& settings, std::span<const NamedItems> data,
                  const TracingModel& model, const InterventionPlan& conditions) {
  RunPlan plan{.sources = {model.source()}, .jobs = {}};
  for (const InterventionSettings& s : conditions.settings) {
    plan.sources.push_back(model.variant(settings.run.sampler, &s));
  }
  const Condition passages = parse_condition(settings.passages);
  for (const NamedItems& set : data) {
    for (std::size_t i = 0; i < set.items.size(); ++i) {
      const QaItem item = under(passages, set.items[i], {});
      for (std::size_t c = 0; c < conditions.named.size(); ++c) {
        plan.jobs.push_back(make_job(model, {model.name(), set.name, conditions.named[c].name, item.id},
                                     static_cast<Index>(i), item));
        plan.jobs.back().variant = static_cast<Index>(c);
      }
    }
  }
  return plan;
}

}  // namespace

std::optional<IntervenedRun> run_interventions(Ranks& ranks, const InterventionRunSettings& settings,
                                               RunObserver& observer) {
  const std::vector<NamedModel> models = read_models(settings.run);
  const auto warn = [&](const std::string& line) { observer.warn(line); };
  InterventionPlan conditions =
      with_controls(choose_interventions(settings.choice, settings.run.sampler, models));
  IntervenedRun made{.data = read_data(settings.run.data, settings.run.places, warn), .result = {}};
  RunWork work;
  const std::vector<QaItem> held_out = held_out_items(settings.choice, made.data, conditions.settings, warn);
  work.plan = [&](const TracingModel& model) {
    rank_heads(model, held_out, settings.run.batch_size, conditions.settings, observer);
    return plan_jobs(settings, made.data, model, conditions);
  };
  if (settings.trace) work.trace = &*settings.trace;
  const std::unique_ptr<RunStore> store =
      answer_all(ranks, settings.run, described(settings, made.data, conditions), work, observer);
  if (!store) return std::nullopt;
  const std::vector<SampleResult> results = store->results();
  write_samples(settings.run, results);
  std::vector<std::string> names;
  for (const NamedModel& m : models) names.push_back(m.name);
  made.result =
      make_intervention_result(answer_table(results), seen_layer_means(*store), names, conditions.named);
  return made;
}

}  // namespace buoy
