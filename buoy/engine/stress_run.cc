#include "buoy/engine/stress_run.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/corpus/posting_search.h"
#include "buoy/engine/rank_observer.h"
#include "buoy/io/json.h"
#include "buoy/stress/stress_collection.h"
#include "buoy/stress/stress_sampler.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// The levels of one stressor on one dataset, with the items that can be stressed so.
struct Sweep {
  const NamedItems* data = nullptr;
  std::vector<StressLevel> levels;
  std::vector<Index> chosen;  // places in the dataset
};

// The same on every rank; only heads are ranked later, by each model.
struct StressPlan {
  std::vector<NamedItems> data;
  std::vector<Sweep> sweeps;
  InterventionPlan interventions;  // with their controls
  std::vector<QaItem> held_out;    // to rank heads on
  int rank = 0;
};

// The samplers that a model writes with, level by level.
std::vector<SamplerSettings> samplers_of(const StressPlan& plan, const SamplerSettings& sampler,
                                         const NamedModel& model) {
  std::vector<SamplerSettings> made;
  for (const Sweep& sweep : plan.sweeps) {
    for (const StressLevel& level : sweep.levels) {
      if (const auto its = sampler_at(sampler, level, model.config)) made.push_back(*its);
    }
  }
  return made;
}

StressPlan make_plan(const Ranks& ranks, const StressRunSettings& settings,
                     std::span<const NamedModel> models, RunObserver& observer) {
  const auto warnings = [&](const std::string& line) { observer.warn(line); };
  StressPlan plan{
      .data = read_data(settings.run.data, settings.run.places, warnings, &observer),
      .sweeps = {},
      .interventions = with_controls(choose_interventions(settings.choice, settings.run.sampler, models)),
      .held_out = {},
      .rank = ranks.rank()};
  plan.held_out = held_out_items(settings.choice, plan.data, plan.interventions.settings, warnings);
  std::vector<const Stressor*> seen;
  for (const std::string& text : settings.stressors) {
    const std::vector<StressLevel> levels = parse_stress(text, settings.stress);
    const Stressor* stressor = levels.front().stressor;
    if (std::ranges::find(seen, stressor) != seen.end()) fail_usage("{} is given twice", stressor->name);
    seen.push_back(stressor);
    for (const NamedItems& set : plan.data) {
      plan.sweeps.push_back({.data = &set,
                             .levels = levels,
                             .chosen = items_for(levels, set.name, set.items, settings.stress, warnings)});
    }
  }
  for (const NamedModel& model : models)
    check_steps(settings.choice, model, samplers_of(plan, settings.run.sampler_of(model.given), model));
  return plan;
}

Json described(const StressRunSettings& settings, const StressPlan& plan) {
  Json json = describe_run(settings.run);
  json["verb"] = "stress";
  json["data"] = describe_data(plan.data);
  json["passages"] = settings.stress.passages;
  json["seed"] = settings.stress.seed;
  for (const Sweep& sweep : plan.sweeps) {
    if (sweep.data != plan.sweeps.front().data) continue;
    for (const StressLevel& level : sweep.levels) {
      const bool ranks = level.stressor->target == StressTarget::kCollection;
      json["stress"][level.name()] = ranks ? fmt::format("ranking {}", kRankingCode) : "";
    }
  }
  json["under"] = describe_interventions(plan.interventions, plan.held_out);
  json["where"] = to_json(settings.choice);
  return json;
}

// Says which levels mean nothing to which models. Throws UsageError for one that means nothing to any, and
// for levels that a sampler refuses.
void check_samplers(const StressRunSettings& settings, const StressPlan& plan,
                    std::span<const NamedModel> models, const WarningSink& warnings) {
  for (const Sweep& sweep : plan.sweeps) {
    if (sweep.data != &plan.data.front()) continue;
    for (const StressLevel& level : sweep.levels) {
      std::vector<std::string> left_out;
      for (const NamedModel& m : models) {
        if (!sampler_at(settings.run.sampler_of(m.given), level, m.config)) left_out.push_back(m.name);
      }
      const std::string names = fmt::format("{}", fmt::join(left_out, ", "));
      if (left_out.size() == models.size()) fail_usage("{} means nothing to {}", level.name(), names);
      if (!left_out.empty()) {
        warn(warnings, fmt::format("{} means nothing to {}: left out", level.name(), names));
      }
    }
  }
}

class Planner {
 public:
  Planner(const StressRunSettings& settings, const StressPlan& plan, const NamedModel& model)
      : settings_(settings), plan_(plan), model_(model) {}

  RunPlan items() {
    for (const Sweep& sweep : plan_.sweeps) {
      const StressPool pool(sweep.data->items);
      for (const StressLevel& level : sweep.levels) add_level(sweep, level, pool);
    }
    return std::move(made_);
  }

 private:
  void add_level(const Sweep& sweep, const StressLevel& level, const StressPool& pool) {
    const std::optional<SamplerSettings> sampler =
        sampler_at(settings_.run.sampler_of(model_.given), level, model_.config);
    if (!sampler) return;
    const std::vector<QaItem> items = items_at(sweep, level, pool);
    const QueryPlace place = query_place(level);
    const std::vector<InterventionSettings>& all = plan_.interventions.settings;
    for (std::size_t v = 0; v <= all.size(); ++v) {
      const InterventionSettings* intervention = v == 0 ? nullptr : &all[v - 1];
      const Index variant = variant_of(level, *sampler, intervention);
      const std::string name =
          intervention ? intervened_name(model_.name, intervention->name()) : model_.name;
      for (std::size_t i = 0; i < items.size(); ++i) {
        made_.items.push_back({.key = {name, sweep.data->name, level.name(), items[i].id},
                               .number = sweep.chosen[i],
                               .item = items[i],
                               .place = place,
                               .variant = variant});
      }
    }
  }

  std::vector<QaItem> items_at(const Sweep& sweep, const StressLevel& level, const StressPool& pool) const {
    if (level.stressor->target == StressTarget::kCollection) {
      // Each rank makes and changes a collection of its own.
      const fs::path path =
          settings_.run.output / fmt::format("collection-{}-{}.db", sweep.data->name, plan_.rank);
      fs::create_directories(settings_.run.output);
      return stress_collection(pool, sweep.chosen, level, settings_.stress, path);
    }
    std::vector<QaItem> items;
    for (const Index i : sweep.chosen) {
      items.push_back(
          stress_item(sweep.data->items[static_cast<std::size_t>(i)], i, level, pool, settings_.stress));
    }
    return items;
  }

  // Levels that leave the sampler alone share one variant.
  Index variant_of(const StressLevel& level, const SamplerSettings& sampler,
                   const InterventionSettings* intervention) {
    const bool own = level.stressor->target == StressTarget::kSampler;
    const std::pair key(own ? level.name() : "", intervention);
    const auto [at, is_new] = variants_.try_emplace(key, std::ssize(made_.variants));
    if (is_new) made_.variants.push_back({.sampler = sampler, .intervention = intervention});
    return at->second;
  }

  const StressRunSettings& settings_;
  const StressPlan& plan_;
  const NamedModel& model_;
  RunPlan made_;
  std::map<std::pair<std::string, const InterventionSettings*>, Index> variants_;
};

// The levels of this command's stressors and of earlier ones', those of a stressor together.
std::vector<StressLevel> all_levels(const StressPlan& plan, const Json& stress,
                                    const StressOptions& options) {
  std::vector<std::string> stressors;
  std::map<std::string, std::set<std::string>> levels;
  const auto add = [&](const std::string& name) {
    const std::string stressor = name.substr(0, name.find('='));
    if (!levels.contains(stressor)) stressors.push_back(stressor);
    levels[stressor].insert(name.substr(stressor.size() + 1));
  };
  for (const Sweep& sweep : plan.sweeps) {
    for (const StressLevel& level : sweep.levels) add(level.name());
  }
  for (const auto& [name, nothing] : stress.items()) add(name);
  std::vector<StressLevel> all;
  for (const std::string& stressor : stressors) {
    const std::vector<StressLevel> made =
        parse_stress(fmt::format("{}={}", stressor, fmt::join(levels[stressor], ",")), options);
    all.insert(all.end(), made.begin(), made.end());
  }
  return all;
}

StressResult result_of(const StressRunSettings& settings, const StressPlan& plan, const RunStore& store) {
  StressOrder order;
  const Json begun = store.settings();
  const InterventionPlan under =
      with_earlier(plan.interventions, settings.choice, settings.run.sampler, begun["under"]);
  for (const std::string& model : models_of(store)) {
    order.models.push_back(model);
    for (const InterventionCondition& i : under.named) {
      if (i.name == kNoIntervention) continue;
      order.models.push_back(intervened_name(model, i.name));
      order.interventions.push_back({model, i.name, i.control});
    }
  }
  for (const NamedItems& set : plan.data) order.data.push_back({.name = set.name, .items = set.items});
  order.levels = all_levels(plan, begun["stress"], settings.stress);
  return make_stress_result(store.results(), order);
}

}  // namespace

std::optional<StressedRun> run_stress(Ranks& ranks, const StressRunSettings& given, RunObserver& watching) {
  RankObserver observer(ranks, watching);
  StressRunSettings settings = given;
  const std::vector<NamedModel> models = read_models(settings.run);
  const auto warnings = [&](const std::string& line) { observer.warn(line); };
  StressPlan plan = make_plan(ranks, settings, models, observer);
  check_samplers(settings, plan, models, warnings);
  RunWork work;
  work.identity = {.settings = described(settings, plan), .growing = {"models", "stress", "under"}};
  work.prepare = [&](const TracingModel& model) {
    rank_heads(model, plan.held_out, settings.run.batch_size, plan.interventions.settings, observer);
  };
  work.plan = [&](const NamedModel& model) { return Planner(settings, plan, model).items(); };
  const std::unique_ptr<RunStore> store = answer_all(ranks, settings.run, work, observer);
  if (!store) return std::nullopt;
  write_samples(settings.run, *store);
  StressedRun made{.output = settings.run.output, .data = {}, .result = result_of(settings, plan, *store)};
  made.data = std::move(plan.data);
  return made;
}

}  // namespace buoy
