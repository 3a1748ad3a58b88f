// buoy intervene: hide, pin or cut what attention goes to while a model writes, and see what breaks.
#include "apps/cli/intervene.h"

#include <algorithm>
#include <cstdio>

#include <fmt/ranges.h>

#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/report/intervene_page.h"
#include "buoy/run/eval_table.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// Everything that is run: what was asked for, each followed by its control.
struct Conditions {
  std::vector<InterventionSettings> settings;
  std::vector<InterventionCondition> named;  // "none" first, then as in settings
};

Conditions with_controls(const std::vector<InterventionSettings>& wanted) {
  Conditions all;
  all.named.push_back({.name = kNoIntervention});
  const auto add = [&](const InterventionSettings& settings, const std::string& control) {
    const auto found = std::ranges::find(all.named, settings.name(), &InterventionCondition::name);
    if (found != all.named.end()) return;
    all.settings.push_back(settings);
    all.named.push_back({.name = settings.name(), .control = control});
  };
  for (const InterventionSettings& settings : wanted) {
    const std::optional<InterventionSettings> control = control_of(settings);
    add(settings, control ? control->name() : "");
    if (control) add(*control, "");
  }
  return all;
}

Json settings_of(const InterveneOptions& options, const std::vector<NamedItems>& data,
                 const Conditions& conditions) {
  Json settings = options.run.settings(data);
  settings["passages"] = options.passages;
  settings["where"] = options.flags.to_json();
  for (const InterventionCondition& c : conditions.named) settings["conditions"].push_back(c.name);
  if (options.trace) settings["trace"] = to_json(options.analyses);
  return settings;
}

RunPlan plan_jobs(const InterveneOptions& options, const std::vector<NamedItems>& data,
                  const TracingModel& model, const std::vector<QaItem>& held_out, Conditions& conditions) {
  rank_heads(model, held_out, options.run.prompts.batch_size, conditions.settings);
  RunPlan plan{.sources = {model.source()}, .jobs = {}};
  for (const InterventionSettings& s : conditions.settings) {
    plan.sources.push_back(model.variant(options.run.sampler, &s));
  }
  const Condition passages = parse_condition(options.passages);
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

void run(Ranks& ranks, const InterveneOptions& options, const std::string& command) {
  const std::optional<IntervenedRun> made = run_interventions(ranks, options);
  if (!made) return;
  std::vector<std::string> names;
  for (const RunFlags::Named& m : options.run.read_models()) names.push_back(m.name);
  write_intervene(
      made->result,
      {.title = fmt::format("Interventions: {}", fmt::join(names, ", ")),
       .lead = "The same questions while attention is changed: keys hidden, anchors pinned, heads cut, each "
               "beside a control of the same size.",
       .command = command,
       .facts = {{"Data", describe(made->data)},
                 {"Passages", options.passages},
                 {"Layers, heads, steps",
                  fmt::format("{}, {}, {}", options.flags.layers, options.flags.heads, options.flags.steps)},
                 {"Answer length", fmt::format("{} tokens", options.run.sampler.gen_length)},
                 {"Buoy", BUOY_VERSION}}},
      options.run.output);
  std::printf("%s\n%s\n", intervene_text(made->result).c_str(),
              (fs::path(options.run.output) / "report.html").c_str());
}

void print_list() {
  for (const Intervention& i : interventions()) {
    const char* parameter = i.parameter == InterventionParameter::kCount    ? "=N"
                            : i.parameter == InterventionParameter::kAcross ? "=steps|layers"
                                                                            : "";
    std::printf("%-28s %s%s\n", fmt::format("{}{}", i.name, parameter).c_str(), std::string(i.about).c_str(),
                i.control.empty() ? "" : fmt::format("; control: {}", i.control).c_str());
  }
}

}  // namespace

std::optional<IntervenedRun> run_interventions(Ranks& ranks, const InterveneOptions& options) {
  const std::vector<RunFlags::Named> models = options.run.read_models();
  Conditions conditions = with_controls(options.flags.parse(options.interventions, options.run, models));
  IntervenedRun made{.data = read_data(options.run.data, options.run.prompts), .result = {}};
  RunWork work;
  work.settings = settings_of(options, made.data, conditions);
  const std::vector<QaItem> held_out = options.flags.held_out(made.data, conditions.settings);
  work.plan = [&](const TracingModel& model) {
    return plan_jobs(options, made.data, model, held_out, conditions);
  };
  if (options.trace) work.trace = &options.analyses;
  const std::unique_ptr<RunStore> store = answer_all(ranks, options.run, work);
  if (!store) return std::nullopt;
  const std::vector<SampleResult> results = store->results();
  write_samples(options.run, results);
  std::vector<std::string> names;
  for (const RunFlags::Named& m : models) names.push_back(m.name);
  made.result =
      make_intervention_result(answer_table(results), seen_layer_means(*store), names, conditions.named);
  return made;
}

void add_intervene(CLI::App& root) {
  auto options = std::make_shared<InterveneOptions>();
  auto analysis = std::make_shared<AnalysisFlags>();
  auto list = std::make_shared<bool>(false);
  auto no_trace = std::make_shared<bool>(false);
  options->run.sampler.gen_length = 32;
  options->run.prompts.batch_size = 8;
  options->run.output = "buoy-intervene";
  CLI::App* verb =
      root.add_subcommand("intervene", "Hide, pin or cut what attention goes to, and see what breaks");
  verb->add_option("interventions", options->interventions,
                   "mask-anchors=K, mask-bos, mask-random=K, pin-anchors=steps|layers, cut-heads=N, "
                   "cut-random=N; several values as K,K,K")
      ->capture_default_str();
  verb->add_flag("--list", *list, "Print the interventions and leave");
  verb->add_option("--passages", options->passages, "none, given, or a number: the first so many")
      ->capture_default_str();
  verb->add_flag("--no-trace", *no_trace, "Answers only: record no attention, which is faster");
  options->flags.add_to(*verb);
  options->run.add_to(*verb);
  analysis->add_to(*verb);
  verb->footer(
      "Every intervention brings its control: as many keys of the same classes, or as many other heads. "
      "docs/interventions.md says\n"
      "what each does. A run broken off goes on with the same command.\n\n"
      "Examples:\n"
      "  buoy intervene mask-bos --model mini-arm --limit 50 -o bos\n"
      "  buoy intervene mask-anchors=1,5,10 --model mini-mdm --at-layers 0-3 --steps 16 -o shallow\n"
      "  buoy intervene cut-heads=4,8 --data nq.jsonl --limit 200 --rank-items 100 -o heads\n");
  verb->callback([=] {
    if (*list) return print_list();
    options->trace = !*no_trace;
    options->analyses = analysis->options();
    if (*no_trace && !analysis->given().empty()) {
      fail_usage("{} has no effect with --no-trace", analysis->given());
    }
    on_ranks([&](Ranks& ranks) { run(ranks, *options, command_of(*verb)); });
  });
}

}  // namespace buoy
