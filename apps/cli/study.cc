// buoy study: trace, analyse, draw and report, for one model or several side by side.
#include <algorithm>
#include <cstdio>

#include <fmt/ranges.h>

#include "apps/cli/analysis_flags.h"
#include "apps/cli/eval.h"
#include "apps/cli/intervene.h"
#include "apps/cli/progress.h"
#include "apps/cli/stress.h"
#include "apps/cli/trace_shelf.h"
#include "apps/cli/tracing.h"
#include "apps/cli/verb.h"
#include "buoy/analysis/received.h"
#include "buoy/base/error.h"
#include "buoy/report/claims_section.h"
#include "buoy/report/eval_page.h"
#include "buoy/report/intervene_page.h"
#include "buoy/report/stress_page.h"
#include "buoy/report/study_page.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostModels = 6;  // that a figure can tell apart

struct Options {
  RunFlags run;
  RecordFlags record;
  AnalysisFlags analysis;
  bool keep_traces = false;
  bool quick = false;
  Index stress_limit = 0;  // 0: as many as are traced
};

// What a study stresses and changes: enough for a first look. buoy stress and buoy intervene do more.
const std::vector<std::string> kStressors = {"irrelevant=0,0.5,0.9", "gold-position=1,5,10"};
const std::vector<std::string> kInterventions = {"mask-bos", "mask-anchors=5", "pin-anchors=steps",
                                                 "pin-anchors=layers"};

// The head with the strongest single anchor on the example, beside chance.
void add_qk_example(const TracingModel& model, StudiedModel& studied) {
  if (studied.examples.empty() || studied.examples[0].N() > kMaxQkPositions) return;
  const Trace& trace = studied.examples[0];
  double best = 0;
  Index layer = trace.layers[0], head = 0;
  for (Index l = 0; l < trace.L(); ++l) {
    for (Index h = 0; h < trace.H(); ++h) {
      const Received received = finished_received(trace, l, h);
      const Index peak = largest_excess(received.share, received.null);
      if (peak < 0) continue;
      const auto p = static_cast<std::size_t>(peak);
      const double excess = received.share[p] - received.null[p];
      if (excess <= best) continue;
      best = excess;
      layer = trace.layers[static_cast<std::size_t>(l)];
      head = h;
    }
  }
  studied.qk.push_back(record_qk(model.source().model, trace.tokens, layer, head));
}

void study_model(const Options& options, const std::string& name, std::span<const NamedItems> data,
                 TraceShelf& shelf, StudyResult& result) {
  EngineOptions engine = options.run.engine;
  engine.model = name;
  const TracingModel model(engine, options.run.sampler, options.record, options.run.prompts);
  Index total = 0, first_sample = 0;
  for (const NamedItems& set : data) total += std::ssize(set.items);
  ProgressBar progress(model.name(), total);
  for (const NamedItems& set : data) {
    for (std::size_t first = 0; first < set.items.size();) {
      const std::size_t count =
          std::min(set.items.size() - first, static_cast<std::size_t>(options.run.prompts.batch_size));
      const auto items = std::span(set.items).subspan(first, count);
      for (Trace& trace : shelf.get(model, set.name, items, first_sample)) {
        collect(result, std::move(trace), set.name);
        progress.advance();
      }
      first += count;
      first_sample += static_cast<Index>(count);
    }
  }
  const auto wanted = std::ranges::find(result.options.analyses, std::string_view("qk"), &Analysis::name);
  if (wanted != result.options.analyses.end()) add_qk_example(model, result.models.back());
}

RunFlags run_flags(const Options& options, const char* directory, Index limit) {
  RunFlags flags = options.run;
  flags.prompts.limit = limit;
  flags.output = (fs::path(options.run.output) / directory).string();
  return flags;
}

// What these models or data cannot be put through is left out of a study, not a reason to end it.
void where_possible(const char* what, const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& e) {
    print_warning(fmt::format("no {}: {}", what, e.what()));
  }
}

// Answers with and without passages, stress and interventions, each a run of its own that can be resumed;
// then the verdicts on the claims, which rest on all of it.
void add_other_runs(const Options& options, const StudyResult& result, StudyReport& report) {
  const std::unique_ptr<Ranks> one = Ranks::alone();
  Ranks& alone = *one;
  const Index limit = options.stress_limit > 0 ? options.stress_limit : options.run.prompts.limit;
  const auto add = [&](std::vector<Section> sections) {
    for (Section& section : sections) report.more.push_back(std::move(section));
  };
  Evidence evidence;
  for (const StudiedModel& m : result.models) evidence.models.push_back({m.name, m.kind});
  evidence.analyses = &result.table;
  evidence.by_gold = &result.by_gold;

  EvalOptions eval;
  eval.run = run_flags(options, "answers", options.run.prompts.limit);
  const std::optional<EvaluatedRun> answered = run_evaluation(alone, eval);
  const SampleTable answers = answer_table(answered->results);
  evidence.answers = &answers;
  add(eval_sections(answered->table, options.run.output));

  std::optional<StressedRun> stressed;
  where_possible("stress tests", [&] {
    StressRunOptions stress;
    stress.run = run_flags(options, "stress", limit);
    stress.stressors = kStressors;
    stressed = run_stress(alone, stress);
    evidence.stress = &stressed->result.samples;
    add(stress_sections(stressed->result, options.run.output));
  });
  where_possible("interventions", [&] {
    InterveneOptions intervene;
    intervene.run = run_flags(options, "interventions", limit);
    intervene.interventions = kInterventions;
    intervene.analyses = result.options;
    add(intervene_sections(run_interventions(alone, intervene)->result, options.run.output));
  });

  report.first.push_back(claims_section(judge(evidence), options.run.output));
}

void run(const Options& options, const std::string& command) {
  if (options.run.models.size() > kMostModels)
    fail_usage("--model: {} models, expected at most {}", options.run.models.size(), kMostModels);
  const bool analyses_alone = options.quick || !options.analysis.only.empty();
  if (analyses_alone && options.stress_limit > 0) {
    fail_usage("--stress-limit has no effect with --quick or --only");
  }
  if (analyses_alone && options.run.log_samples) {
    fail_usage("--log-samples has no effect with --quick or --only");
  }
  options.run.read_models();  // or says what is wrong with them
  StudyResult result;
  result.options = options.analysis.options();
  const std::vector<NamedItems> data = read_data(options.run.data, options.run.prompts);
  TraceShelf shelf(fs::path(options.run.output) / "traces");
  for (const std::string& name : options.run.models) study_model(options, name, data, shelf, result);
  if (shelf.found() > 0) print_warning(fmt::format("{} traces were there already", shelf.found()));
  for (const std::string& warning : result.warnings) print_warning(warning);

  std::vector<std::string> names;
  for (const StudiedModel& m : result.models) names.push_back(m.name);
  StudyReport report{.title = fmt::format("Where attention floats: {}", fmt::join(names, ", ")),
                     .lead =
                         "What attention does while these models answer questions: where it goes at "
                         "every step, layer and head, how that changes, and what it would be by chance.",
                     .command = command,
                     .facts = {{"Data", describe(data)},
                               {"Answer length", fmt::format("{} tokens", options.run.sampler.gen_length)},
                               {"Anchors", describe(result.options.analysis.anchors)},
                               {"Buoy", BUOY_VERSION}},
                     .first = {},
                     .more = {}};
  if (!analyses_alone) add_other_runs(options, result, report);
  write_and_tell(result, report, options.run.output);
  if (!options.keep_traces) shelf.clear();
}

}  // namespace

void add_study(CLI::App& root) {
  auto options = std::make_shared<Options>();
  options->run.output = "buoy-study";
  options->run.sampler.gen_length = 32;
  options->run.prompts.limit = 20;
  CLI::App* verb = root.add_subcommand("study", "Trace, analyse, draw and report, model beside model");
  options->run.add_to(*verb);
  options->analysis.add_to(*verb);
  options->record.add_to(*verb);
  verb->add_flag("--quick", options->quick,
                 "Analyses alone: no answers without passages, no stress, no interventions, no verdicts; "
                 "--only implies it");
  verb->add_option("--stress-limit", options->stress_limit,
                   "At most this many items for stress and interventions; 0: as --limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_flag("--keep-traces", options->keep_traces, "Leave the traces in OUTPUT/traces when all is done");
  verb->footer(
      "Without arguments: the bundled pair on 20 bundled questions. docs/definitions.md says what every "
      "number means. A study that was stopped goes on where it was when the same command is "
      "given again: until it is done its traces lie in OUTPUT/traces.\n\n"
      "Examples:\n"
      "  buoy study -o study\n"
      "  buoy study --quick --limit 5 -o look\n"
      "  buoy study --data data/micro_gold_at_1.jsonl --data data/micro_gold_at_10.jsonl --only flow -o "
      "gold\n"
      "  buoy study --model /models/LLaDA-8B-Instruct --model /models/Llama-3.1-8B-Instruct --data nq.jsonl "
      "--limit 100 -o nq\n");
  verb->callback([options, verb] {
    on_ranks([&](Ranks& ranks) {
      if (ranks.count() > 1) {
        fail_usage("study runs as one process, not on {} ranks; eval, stress and intervene run on many",
                   ranks.count());
      }
      run(*options, command_of(*verb));
    });
  });
}

}  // namespace buoy
