// buoy eval: question answering with and without passages, durable and paired.
#include <algorithm>
#include <cstdio>
#include <set>

#include "apps/cli/analysis_flags.h"
#include "apps/cli/run_flags.h"
#include "apps/cli/verb.h"
#include "buoy/analysis/table_csv.h"
#include "buoy/base/error.h"
#include "buoy/base/version.h"
#include "buoy/engine/evaluation.h"
#include "buoy/engine/recipe.h"
#include "buoy/io/file.h"
#include "buoy/report/eval_page.h"
#include "buoy/text/terminal_text.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

struct EvalFlags {
  RunFlags run;
  std::vector<std::string> passages = {"none", "given"};
  std::string collection;
  Index top = 5;
  bool trace = false;
  std::string recipe;
  std::vector<std::string> scores;  // of the tables that are printed; empty: all
};

// What a recipe says cannot be said beside it.
void take_recipe(EvalFlags& flags, const Verb& verb, std::vector<OwnSettings>& own) {
  std::vector<std::string> settled = {"--model", "--passages", "--template",
                                      "--chat",  "--no-chat",  "--answer-end"};
  for (const std::string_view name : sampler_setting_names()) {
    std::string flag = "--" + std::string(name);
    std::ranges::replace(flag, '_', '-');
    settled.push_back(std::move(flag));
  }
  for (const std::string& flag : settled) {
    if (verb.given(flag)) fail_usage("{} stands in the recipe: edit {}", flag, flags.recipe);
  }
  Recipe recipe = read_recipe(flags.recipe);
  replace_data(recipe, flags.run.data);
  flags.run.data.clear();
  for (const fs::path& file : recipe.data) flags.run.data.push_back(file.string());
  flags.run.models = recipe.models;
  flags.passages = recipe.passages;
  flags.scores = recipe.scores;
  own = std::move(recipe.own);
}

// What was recorded beside the answers, for whoever wants to go on from it.
void write_seen(const EvaluatedRun& made, const fs::path& directory) {
  std::vector<GroupSummaries> groups;
  std::set<std::pair<std::string, std::string>> named;
  for (const SampleKey& key : made.seen.samples()) named.emplace(key.model, key.data);
  for (const auto& [model, data] : named) {
    const Group group{.model = model, .data = data, .task = {}};
    groups.push_back({group, made.seen.summaries(group)});
  }
  write_file_atomically(directory / "attention.csv", summaries_csv(groups));
  write_file_atomically(directory / "attention_samples.csv", samples_csv(made.seen));
}

void eval_command(Ranks& ranks, const EvaluationSettings& settings, const std::string& command,
                  const std::vector<std::string>& scores, RunObserver& observer) {
  const std::optional<EvaluatedRun> made = run_evaluation(ranks, settings, observer);
  if (!made) return;
  const std::string& prompt = settings.run.prompt.prompt_template;
  EvalReport report{
      .title = fmt::format("Question answering: {}", names_of(settings.run)),
      .lead = "The same questions with and without passages, answered by every model from the same prompt.",
      .command = command,
      .facts = {{"Data", describe(made->data)},
                {"Prompt", prompt == "auto" ? "auto (what each checkpoint says, else unified)" : prompt},
                {"Answer length", fmt::format("{} tokens", settings.run.sampler.gen_length)},
                {"Buoy", std::string(version())}}};
  report.about = made->about;
  report.scores = scores;
  if (!settings.run.own.empty()) {
    report.facts[1].value = report.facts[2].value = "as the recipe says, model by model";
  }
  if (settings.trace) {
    report.facts.push_back({"Anchors", describe(settings.trace->analysis.anchors)});
    write_seen(*made, made->output);
    report.seen = &made->seen_layer_means;
  }
  write_eval(made->table, report, made->output);
  std::printf("%s\n%s\n", for_terminal(score_text(made->table, scores)).c_str(),
              (made->output / "report.html").c_str());
}

}  // namespace

void add_eval(Command& command) {
  auto options = std::make_shared<EvalFlags>();
  options->run.prompts.batch_size = 16;
  options->run.output = "buoy-eval";
  auto analysis = std::make_shared<AnalysisFlags>();
  Verb verb = command.verb("eval", "Question answering with and without passages");
  verb.option("--passages", &options->passages,
              "none, given, or a number: the first so many; may be repeated")
      .split_at(',');
  verb.option("--retrieve", &options->collection,
              "One more condition: passages from this collection (buoy index)");
  verb.option("--top", &options->top, "How many passages to retrieve").needs("--retrieve").between(1, 100);
  verb.flag("--trace", &options->trace,
            "Record attention on the same pass: what the analyses say of every sample is kept beside it");
  verb.option(
      "--recipe", &options->recipe,
      "Models with their prompts and samplers, datasets and conditions from this file (docs/eval.md)");
  options->run.add_to(verb);
  analysis->add_to(verb);
  verb.footer(
      "Every finished batch is on disk before the bar moves. Broken off, the same command goes on where it "
      "stopped; it takes more models,\n"
      "conditions and items, and refuses what changed, saying which. docs/definitions.md says how answers "
      "are scored.\n\n"
      "Examples:\n"
      "  buoy eval --steps 16 -o eval\n"
      "  buoy eval --model /models/LLaDA-8B-Instruct --data nq.jsonl --passages none,5 --limit 1000 -o nq\n"
      "  buoy eval --trace --only drift,absorption --limit 50 -o traced\n"
      "  buoy index micro.db add data/micro_test.jsonl\n"
      "  buoy eval --retrieve micro.db --top 5 --limit 50 -o retrieved\n"
      "  buoy eval --recipe recipes/micro.json --limit 20 -o table\n"
      "  buoy eval --data data/micro_gold_at_1.jsonl --data data/micro_gold_at_10.jsonl --passages given -o "
      "position\n");
  verb.runs([=] {
    if (!options->trace && !analysis->given().empty()) {
      fail_usage("{} has no effect without --trace", analysis->given());
    }
    std::vector<OwnSettings> own;
    if (!options->recipe.empty()) take_recipe(*options, verb, own);
    on_ranks(options->run.ranks, [&](Ranks& ranks, RunObserver& observer) {
      EvaluationSettings settings{.run = options->run.settings(),
                                  .passages = options->passages,
                                  .collection = options->collection,
                                  .top = options->top,
                                  .trace = {}};
      if (options->trace) settings.trace = analysis->options();
      settings.run.own = own;
      for (OwnSettings& model : settings.run.own) model.prompt.date = settings.run.prompt.date;
      eval_command(ranks, settings, verb.command_line(), options->scores, observer);
    });
  });
}

}  // namespace buoy
