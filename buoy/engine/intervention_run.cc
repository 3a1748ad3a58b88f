#include "buoy/engine/intervention_run.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "buoy/analysis/analyses.h"
#include "buoy/base/error.h"
#include "buoy/engine/rank_observer.h"
#include "buoy/io/json.h"
#include "buoy/run/eval_table.h"

namespace buoy {
namespace {

Json described(const InterventionRunSettings& settings, std::span<const NamedItems> data,
               const InterventionPlan& conditions, std::span<const QaItem> held_out) {
  Json json = describe_run(settings.run);
  json["verb"] = "intervene";
  for (const NamedItems& set : data) json["data"][set.name] = "by item";
  json["passages"] = settings.passages;
  json["where"] = to_json(settings.choice);
  json["under"] = describe_interventions(conditions, held_out);
  if (settings.trace) json["trace"] = to_json(*settings.trace);
  return json;
}

// Which conditions the model can be put through; "none" is the first. Warns of the others.
std::vector<std::size_t> conditions_of(const NamedModel& model, const InterventionPlan& conditions,
                                       const WarningSink& warn) {
  std::vector<std::size_t> fit = {0};
  std::vector<std::string> unfit;
  Index where = 0;
  for (std::size_t c = 1; c < conditions.named.size(); ++c) {
    const std::optional<Index> layer = unfit_layer(conditions.settings[c - 1], model.config);
    if (!layer) {
      fit.push_back(c);
      continue;
    }
    unfit.push_back(conditions.named[c].name);
    where = *layer;
  }
  if (!unfit.empty()) {
    warn(fmt::format("{}: left out of {}, whose layer {} has a state space mixer", fmt::join(unfit, ", "),
                     model.name, where));
  }
  return fit;
}

RunPlan plan_interventions(const InterventionRunSettings& settings, std::span<const NamedItems> data,
                           const NamedModel& model, const InterventionPlan& conditions,
                           const WarningSink& warn) {
  const SamplerSettings& sampler = settings.run.sampler_of(model.given);
  RunPlan plan{.variants = {{.sampler = sampler}}, .items = {}};
  for (const InterventionSettings& s : conditions.settings) {
    plan.variants.push_back({.sampler = sampler, .intervention = &s});
  }
  const std::vector<std::size_t> fit = conditions_of(model, conditions, warn);
  const Condition passages = parse_condition(settings.passages);
  for (const NamedItems& set : data) {
    for (std::size_t i = 0; i < set.items.size(); ++i) {
      const QaItem item = under(passages, set.items[i], {});
      for (const std::size_t c : fit) {
        plan.items.push_back({.key = {model.name, set.name, conditions.named[c].name, item.id},
                              .number = static_cast<Index>(i),
                              .item = item,
                              .variant = static_cast<Index>(c)});
      }
    }
  }
  return plan;
}

}  // namespace

std::optional<IntervenedRun> run_interventions(Ranks& ranks, const InterventionRunSettings& settings,
                                               RunObserver& watching) {
  RankObserver observer(ranks, watching);
  const std::vector<NamedModel> models = read_models(settings.run);
  for (const NamedModel& m : models) {
    const SamplerSettings& sampler = settings.run.sampler_of(m.given);
    check_watchable(sampler, m.config, "an intervention");
    check_steps(settings.choice, m, {&sampler, 1});
  }
  const auto warn = [&](const std::string& line) { observer.warn(line); };
  InterventionPlan conditions =
      with_controls(choose_interventions(settings.choice, settings.run.sampler, models, Unfit::kLeftOut));
  IntervenedRun made{
      .output = {}, .data = read_data(settings.run.data, settings.run.places, warn, &observer), .result = {}};
  RunWork work;
  const std::vector<QaItem> held_out = held_out_items(settings.choice, made.data, conditions.settings, warn);
  work.identity = {.settings = described(settings, made.data, conditions, held_out),
                   .growing = {"models", "data", "under"},
                   .items = identify_items(made.data)};
  work.prepare = [&](const TracingModel& model) {
    rank_heads(model, held_out, settings.run.batch_size, conditions.settings, observer);
  };
  work.plan = [&](const NamedModel& model) {
    return plan_interventions(settings, made.data, model, conditions, warn);
  };
  if (settings.trace) work.trace = &*settings.trace;
  RunSettings run = settings.run;
  const std::unique_ptr<RunStore> store = answer_all(ranks, run, work, observer);
  if (!store) return std::nullopt;
  const std::vector<SampleResult> results = store->results();
  write_samples(run, *store);
  made.output = run.output;
  const InterventionPlan all =
      with_earlier(conditions, settings.choice, settings.run.sampler, store->settings()["under"]);
  made.result =
      make_intervention_result(answer_table(results), seen_layer_means(*store), models_of(*store), all.named);
  return made;
}

}  // namespace buoy
