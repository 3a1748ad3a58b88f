// buoy study: trace, analyse, draw and report, for one model or several side by side.
#include "buoy/engine/study.h"

#include <algorithm>
#include <cstdio>

#include <fmt/ranges.h>

#include "apps/cli/analysis_flags.h"
#include "apps/cli/figure_flags.h"
#include "apps/cli/output_flags.h"
#include "apps/cli/run_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/base/version.h"
#include "buoy/report/page_parts.h"
#include "buoy/report/study_page.h"

namespace buoy {
namespace {

struct StudyFlags {
  RunFlags run;
  std::vector<std::string> kinds;  // KIND=MODEL,MODEL
  RecordFlags record;
  AnalysisFlags analysis;
  FigureFlags figures;
  bool keep_traces = false;
  bool quick = false;
  bool overwrite = false;
  Index twins = 3;
  Index twin_seed = 1;
  Index stress_limit = 0;  // 0: as many as are traced
};

// "mdm=a1,a2".
ModelKind parse_kind(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0) fail_usage("--kind-of {}: expected KIND=MODEL,MODEL", text);
  ModelKind kind{.name = text.substr(0, sign), .models = {}};
  for (std::size_t from = sign + 1; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    if (to == from) fail_usage("--kind-of {}: names a model without a name, expected KIND=MODEL,MODEL", text);
    kind.models.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return kind;
}

std::vector<ModelKind> parse_kinds(const std::vector<std::string>& texts) {
  std::vector<ModelKind> kinds;
  for (const std::string& text : texts) kinds.push_back(parse_kind(text));
  return kinds;
}

// Models of a kind need no --model of their own; one that was given there may be called by its name.
void add_models_of_kinds(std::vector<std::string>& models, const std::vector<ModelKind>& kinds) {
  for (const ModelKind& kind : kinds) {
    for (const std::string& wanted : kind.models) {
      const auto same = [&](const std::string& model) {
        return model == wanted || std::filesystem::path(model).filename() == wanted;
      };
      if (std::ranges::none_of(models, same)) models.push_back(wanted);
    }
  }
}

StudySettings settings_of(const StudyFlags& options) {
  const bool analyses_alone = options.quick || !options.analysis.only.empty();
  if (analyses_alone && options.stress_limit > 0) {
    fail_usage("--stress-limit has no effect with --quick or --only");
  }
  if (analyses_alone && options.run.log_samples) {
    fail_usage("--log-samples has no effect with --quick or --only");
  }
  RunSettings run = options.run.settings();
  run.data.bundled = "micro_study.jsonl";
  return {.run = std::move(run),
          .record = options.record.settings(),
          .analyses = options.analysis.options(),
          .analyses_alone = analyses_alone,
          .stress_limit = options.stress_limit > 0 ? std::optional(options.stress_limit) : std::nullopt,
          .keep_traces = options.keep_traces,
          .twins = options.twins,
          .twin_seed = static_cast<std::uint64_t>(options.twin_seed),
          .kinds = parse_kinds(options.kinds),
          .other = OutputFlags{.overwrite = options.overwrite, .beside = options.run.begin_new}.other()};
}

// Of kinds and of models that are none's, in order.
std::string subjects_of(const StudyResult& result) {
  const auto name = [](const StudiedModel& model) { return model.kind.empty() ? model.name : model.kind; };
  return fmt::format("{}", fmt::join(names_in(result.models, name), ", "));
}

StudyReport report_of(const StudySettings& settings, const StudyOutcome& outcome) {
  StudyReport report{.title = fmt::format("Where attention floats: {}", subjects_of(outcome.result)),
                     .lead = "",
                     .command = settings.run.command,
                     .facts = {{"Data", describe(outcome.data)},
                               {"Answer length", fmt::format("{} tokens", settings.run.sampler.gen_length)},
                               {"Anchors", describe(settings.analyses.analysis.anchors)},
                               {"Buoy", std::string(version())}},
                     .claims = outcome.claims};
  if (outcome.answers) report.answers = outcome.answers->table;
  if (outcome.stress) report.stress = outcome.stress->result;
  if (outcome.interventions) report.interventions = outcome.interventions->result;
  return report;
}

void study_command(Ranks& ranks, const StudySettings& settings, const FigureOptions& figures,
                   RunObserver& observer) {
  const std::optional<StudyOutcome> outcome = run_study(ranks, settings, observer);
  if (!outcome) return;
  write_and_tell(outcome->result, report_of(settings, *outcome), outcome->folder->path(), figures);
  finish_study(settings, *outcome);
}

}  // namespace

void add_study(Command& command) {
  auto options = std::make_shared<StudyFlags>();
  options->run.output = "buoy-study";
  options->run.prompts.limit = 20;
  options->run.sampler = SamplerFlags(16);  // the bundled answers have up to 15 tokens: most steps write
  Verb verb = command.verb("study", "Trace, analyse, draw and report, model beside model");
  options->run.add_to(verb, "--data-format");  // --format is that of the figures
  verb.option(
      "--kind-of", &options->kinds,
      "KIND=MODEL,MODEL,…: these models are trainings of one kind, by several seeds, say; claims then have "
      "an "
      "interval over models beside that over questions, and figures one colour a kind; may be repeated; "
      "these models need no --model");
  options->analysis.add_to(verb);
  const std::vector<std::string_view> topics = figure_topics();
  options->figures.add_to(verb, {topics.begin(), topics.end()});
  options->record.add_to(verb);
  verb.flag("--quick", &options->quick,
            "Analyses alone: no answers without passages, no stress, no interventions, no verdicts; "
            "--only implies it");
  verb.option("--stress-limit", &options->stress_limit,
              "At most this many items for stress and interventions; 0: as --limit")
      .at_least(0);
  verb.option(
          "--twins", &options->twins,
          "Shuffled twins of each model to hold verdicts against; each takes as long as tracing the model; "
          "0: none")
      .between(0, 20);
  verb.option("--twin-seed", &options->twin_seed,
              "By which the first twin's weights are shuffled; the next ones by those after it")
      .at_least(0);
  verb.flag("--keep-traces", &options->keep_traces,
            "Leave the traces in OUTPUT/traces and the twins in OUTPUT/twins when all is done");
  verb.flag("--overwrite", &options->overwrite, "Where the directory holds another study, replace it");
  verb.footer(
      "Without arguments: mini-mdm and mini-arm on 20 bundled questions. docs/definitions.md says what every "
      "number means. A study that was stopped goes on where it was when the same command is "
      "given again: until it is done its traces lie in OUTPUT/traces.\n\n"
      "Examples:\n"
      "  buoy study -o study\n"
      "  buoy study --quick --limit 5 -o look\n"
      "  buoy study --quick --limit 5 --figures drift,flow --format pdf -o paper\n"
      "  buoy study --data data/micro_gold_at_1.jsonl --data data/micro_gold_at_10.jsonl --only flow -o "
      "gold\n"
      "  buoy study --kind-of mdm=s1/mdm-1,s2/mdm-2,s3/mdm-3 --kind-of arm=s1/arm-1,s2/arm-2,s3/arm-3 -o "
      "seeds\n"
      "  buoy study --model /models/LLaDA-8B-Instruct --model /models/Llama-3.1-8B-Instruct --data nq.jsonl "
      "--limit 100 -o nq\n");
  verb.runs([options, verb] {
    const bool analyses_alone = options->quick || !options->analysis.only.empty();
    for (const char* flag : {"--twins", "--twin-seed"}) {
      if (analyses_alone && verb.given(flag)) fail_usage("{} has no effect with --quick or --only", flag);
    }
    if (options->twins == 0 && verb.given("--twin-seed"))
      fail_usage("--twin-seed has no effect with --twins 0");
    if (!options->kinds.empty() && !verb.given("--model")) options->run.models.clear();
    add_models_of_kinds(options->run.models, parse_kinds(options->kinds));
    on_ranks(options->run.ranks, [&](Ranks& ranks, RunObserver& observer) {
      const StudySettings settings = settings_of(*options);
      study_command(ranks, settings, options->figures.options(settings.analyses.analyses), observer);
    });
  });
}

}  // namespace buoy
