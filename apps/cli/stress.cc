// buoy stress: the same questions under growing stress, model beside model.
#include "apps/cli/stress.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include <fmt/ranges.h>

#include "apps/cli/analysis_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/report/stress_page.h"
#include "buoy/stress/stress_collection.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// The levels of one stressor on one dataset, with the items that can be stressed so.
struct Sweep {
  const NamedItems* data = nullptr;
  std::vector<StressLevel> levels;
  std::vector<Index> chosen;  // places in the dataset
};

struct Plan {
  std::vector<NamedItems> data;
  std::vector<Sweep> sweeps;
  std::vector<InterventionSettings> interventions;
  std::vector<QaItem> held_out;  // to rank heads on
  int rank = 0;
};

Plan make_plan(const Ranks& ranks, const StressRunOptions& options,
               const std::vector<RunFlags::Named>& models) {
  Plan plan{.data = read_data(options.run.data, options.run.prompts),
            .sweeps = {},
            .interventions = options.flags.parse(options.intervene, options.run, models),
            .held_out = {},
            .rank = ranks.rank()};
  plan.held_out = options.flags.held_out(plan.data, plan.interventions);
  std::vector<const Stressor*> seen;
  for (const std::string& text : options.stressors) {
    const std::vector<StressLevel> levels = parse_stress(text, options.stress);
    const Stressor* stressor = levels.front().stressor;
    if (std::ranges::find(seen, stressor) != seen.end()) fail_usage("{} is given twice", stressor->name);
    seen.push_back(stressor);
    for (const NamedItems& set : plan.data) {
      plan.sweeps.push_back(
          {.data = &set,
           .levels = levels,
           .chosen = items_for(levels, set.name, set.items, options.stress, print_warning)});
    }
  }
  return plan;
}

Json settings_of(const StressRunOptions& options, const Plan& plan) {
  Json settings = options.run.settings(plan.data);
  settings["passages"] = options.stress.passages;
  settings["seed"] = options.stress.seed;
  for (const Sweep& sweep : plan.sweeps) {
    if (sweep.data != plan.sweeps.front().data) continue;
    for (const StressLevel& level : sweep.levels) settings["levels"].push_back(level.name());
  }
  for (const InterventionSettings& i : plan.interventions) settings["interventions"].push_back(i.name());
  if (!plan.interventions.empty()) settings["where"] = options.flags.to_json();
  return settings;
}

// The sampler under a level; nothing where the level means nothing to the model's sampler.
std::optional<SamplerFlags> sampler_at(const SamplerFlags& flags, const StressLevel& level,
                                       SamplerKind kind) {
  if (level.stressor->target != StressTarget::kSampler) return flags;
  if (kind == SamplerKind::kAutoregressive) return std::nullopt;
  const bool llada = kind == SamplerKind::kLlada;
  const Index value = static_cast<Index>(level.value.value_or(0));
  SamplerFlags made = flags;
  if (level.stressor->name == "steps") {
    made.steps = value;
  } else if (level.stressor->name == "block-length") {
    if (!llada) return std::nullopt;
    made.block_length = value;
  } else if (level.stressor->name == "trailing-masks") {
    // As many tokens a step as before: what is measured is the masks, not the haste.
    const Index steps = flags.steps.value_or(flags.gen_length);
    made.gen_length += value;
    made.steps = (steps * made.gen_length + flags.gen_length - 1) / flags.gen_length;
  } else if (llada) {
    if (level.text != "low_confidence" && level.text != "random") return std::nullopt;
    made.remasking = level.text;
  } else {
    made.alg = level.text == "low_confidence" ? "maskgit_plus"
               : level.text == "random"       ? "origin"
                                              : level.text;
  }
  if (llada) check_options(made.llada());
  return made;
}

// Says which levels mean nothing to which models. Throws UsageError for one that means nothing to any, and
// for levels that a sampler refuses.
void check_samplers(const StressRunOptions& options, const Plan& plan,
                    const std::vector<RunFlags::Named>& models) {
  for (const Sweep& sweep : plan.sweeps) {
    if (sweep.data != &plan.data.front()) continue;
    for (const StressLevel& level : sweep.levels) {
      std::vector<std::string> left_out;
      for (const RunFlags::Named& m : models) {
        if (!sampler_at(options.run.sampler, level, m.config.family->sampler)) left_out.push_back(m.name);
      }
      if (left_out.size() == models.size()) {
        fail_usage("{} means nothing to {}", level.name(), fmt::join(left_out, ", "));
      }
      if (!left_out.empty()) {
        print_warning(
            fmt::format("{} means nothing to {}: left out", level.name(), fmt::join(left_out, ", ")));
      }
    }
  }
}

class Planner {
 public:
  Planner(const StressRunOptions& options, Plan& plan, const TracingModel& model)
      : options_(options), plan_(plan), model_(model) {}

  RunPlan jobs() {
    rank_heads(model_, plan_.held_out, options_.run.prompts.batch_size, plan_.interventions);
    for (const Sweep& sweep : plan_.sweeps) {
      const StressPool pool(sweep.data->items);
      for (const StressLevel& level : sweep.levels) add_level(sweep, level, pool);
    }
    return std::move(made_);
  }

 private:
  void add_level(const Sweep& sweep, const StressLevel& level, const StressPool& pool) {
    const std::optional<SamplerFlags> sampler =
        sampler_at(options_.run.sampler, level, model_.config().family->sampler);
    if (!sampler) return;
    const std::vector<QaItem> items = items_at(sweep, level, pool);
    const QueryPlace place = query_place(level);
    for (std::size_t v = 0; v <= plan_.interventions.size(); ++v) {
      const InterventionSettings* intervention = v == 0 ? nullptr : &plan_.interventions[v - 1];
      const Index variant = variant_of(level, *sampler, intervention);
      const std::string name =
          intervention ? fmt::format("{} + {}", model_.name(), intervention->name()) : model_.name();
      for (std::size_t i = 0; i < items.size(); ++i) {
        made_.jobs.push_back(make_job(model_, {name, sweep.data->name, level.name(), items[i].id},
                                      sweep.chosen[i], items[i], place));
        made_.jobs.back().variant = variant;
      }
    }
  }

  std::vector<QaItem> items_at(const Sweep& sweep, const StressLevel& level, const StressPool& pool) const {
    if (level.stressor->target == StressTarget::kCollection) {
      // Each rank makes and changes a collection of its own.
      const fs::path path =
          fs::path(options_.run.output) / fmt::format("collection-{}-{}.db", sweep.data->name, plan_.rank);
      fs::create_directories(options_.run.output);
      return stress_collection(pool, sweep.chosen, level, options_.stress, path);
    }
    std::vector<QaItem> items;
    for (const Index i : sweep.chosen) {
      items.push_back(
          stress_item(sweep.data->items[static_cast<std::size_t>(i)], i, level, pool, options_.stress));
    }
    return items;
  }

  // Levels that leave the sampler alone share one variant.
  Index variant_of(const StressLevel& level, const SamplerFlags& sampler,
                   const InterventionSettings* intervention) {
    const bool own = level.stressor->target == StressTarget::kSampler;
    const std::pair key(own ? level.name() : "", intervention);
    const auto [at, is_new] = variants_.try_emplace(key, std::ssize(made_.sources));
    if (is_new) made_.sources.push_back(model_.variant(sampler, intervention));
    return at->second;
  }

  const StressRunOptions& options_;
  Plan& plan_;
  const TracingModel& model_;
  RunPlan made_;
  std::map<std::pair<std::string, const InterventionSettings*>, Index> variants_;
};

StressResult result_of(const Plan& plan, const std::vector<RunFlags::Named>& models,
                       const std::vector<SampleResult>& results) {
  StressOrder order;
  for (const RunFlags::Named& m : models) {
    order.models.push_back(m.name);
    for (const InterventionSettings& i : plan.interventions) {
      order.models.push_back(fmt::format("{} + {}", m.name, i.name()));
    }
  }
  for (const NamedItems& set : plan.data) order.data.push_back({.name = set.name, .items = set.items});
  for (const Sweep& sweep : plan.sweeps) {
    if (sweep.data != plan.sweeps.front().data) continue;
    order.levels.insert(order.levels.end(), sweep.levels.begin(), sweep.levels.end());
  }
  return make_stress_result(results, order);
}

void run(Ranks& ranks, const StressRunOptions& options, const std::string& command) {
  const std::optional<StressedRun> made = run_stress(ranks, options);
  if (!made) return;
  std::vector<std::string> names;
  for (const RunFlags::Named& m : options.run.read_models()) names.push_back(m.name);
  write_stress(
      made->result,
      {.title = fmt::format("Under stress: {}", fmt::join(names, ", ")),
       .lead = "The same questions under growing stress, every item at every level, model beside model.",
       .command = command,
       .facts = {{"Data", describe(made->data)},
                 {"Passages", fmt::format("{}", options.stress.passages)},
                 {"Answer length", fmt::format("{} tokens", options.run.sampler.gen_length)},
                 {"Buoy", BUOY_VERSION}}},
      options.run.output);
  std::printf("%s\n%s\n", stress_text(made->result).c_str(),
              (fs::path(options.run.output) / "report.html").c_str());
}

void print_list() {
  for (const Stressor& s : stressors()) {
    std::printf("%-16s %-11s %s\n%-28s levels: %s\n", std::string(s.name).c_str(),
                std::string(name_of(s.group)).c_str(), std::string(s.explanation).c_str(), "",
                fmt::format("{}", fmt::join(s.levels, ", ")).c_str());
  }
}

}  // namespace

std::optional<StressedRun> run_stress(Ranks& ranks, const StressRunOptions& options) {
  const std::vector<RunFlags::Named> models = options.run.read_models();
  Plan plan = make_plan(ranks, options, models);
  if (ranks.leads()) check_samplers(options, plan, models);
  RunWork work;
  work.settings = settings_of(options, plan);
  work.plan = [&](const TracingModel& model) { return Planner(options, plan, model).jobs(); };
  const std::unique_ptr<RunStore> store = answer_all(ranks, options.run, work);
  if (!store) return std::nullopt;
  const std::vector<SampleResult> results = store->results();
  write_samples(options.run, results);
  StressedRun made{.data = {}, .result = result_of(plan, models, results)};
  made.data = std::move(plan.data);
  return made;
}

void add_stress(CLI::App& root) {
  auto options = std::make_shared<StressRunOptions>();
  auto list = std::make_shared<bool>(false);
  options->run.sampler.gen_length = 32;
  options->run.prompts.batch_size = 16;
  options->run.output = "buoy-stress";
  CLI::App* verb =
      root.add_subcommand("stress", "The same questions under growing stress, model beside model");
  verb->add_option("stressors", options->stressors, "STRESSOR or STRESSOR=LEVEL,LEVEL…; --list prints them")
      ->capture_default_str();
  verb->add_flag("--list", *list, "Print the stressors with their levels and leave");
  verb->add_option("--k", options->stress.passages, "Passages of a prompt")
      ->check(CLI::Range(1, 30))
      ->capture_default_str();
  verb->add_option("--stress-seed", options->stress.seed, "Of the draws that stress an item")
      ->capture_default_str();
  verb->add_option("--intervene", options->intervene,
                   "Every level once more under this intervention (buoy intervene --list); may be repeated");
  options->flags.add_to(*verb);
  options->run.add_to(*verb);
  verb->footer(
      "Needs a dataset whose gold passages are marked. Every finished batch is on disk; broken off, the same "
      "command goes on where it\n"
      "stopped. docs/stress.md says what every stressor does.\n\n"
      "Examples:\n"
      "  buoy stress --limit 50 --steps 16 -o stress\n"
      "  buoy stress gold-position=1,5,10 --data data/micro_gold_at_1.jsonl -o position\n"
      "  buoy stress irrelevant=0,0.5,0.9 --intervene pin-anchors=steps --model mini-mdm -o pinned\n"
      "  buoy stress steps block-length trailing-masks --model mini-mdm -o generation\n");
  verb->callback([=] {
    if (*list) return print_list();
    on_ranks([&](Ranks& ranks) { run(ranks, *options, command_of(*verb)); });
  });
}

}  // namespace buoy
