// buoy eval: question answering with and without passages, durable and paired.
#include "apps/cli/eval.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include <fmt/ranges.h>

#include "apps/cli/verb.h"
#include "buoy/analysis/table_csv.h"
#include "buoy/base/error.h"
#include "buoy/corpus/collection.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/report/eval_page.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::vector<Condition> read_conditions(const EvalOptions& options) {
  std::vector<Condition> conditions;
  for (const std::string& text : options.passages) {
    conditions.push_back(parse_condition(text));
    const auto same = [&](const Condition& c) { return c.name() == conditions.back().name(); };
    if (std::ranges::count_if(conditions, same) > 1) fail_usage("--passages: {} is given twice", text);
  }
  if (!options.collection.empty()) {
    conditions.push_back({.kind = Condition::Kind::kRetrieved, .count = options.top});
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
struct Plan {
  std::vector<NamedItems> data;
  std::vector<Condition> conditions;
  std::optional<Collection> collection;
};

Json settings_of(const EvalOptions& options, const Plan& plan) {
  Json settings = options.run.settings(plan.data);
  for (const Condition& c : plan.conditions) settings["passages"].push_back(c.name());
  if (plan.collection) {
    settings["collection"] = {{"name", plan.collection->path().filename().string()},
                              {"documents", plan.collection->count()}};
  }
  if (options.trace) settings["trace"] = to_json(options.analyses);
  return settings;
}

RunPlan plan_jobs(const TracingModel& model, Plan& plan) {
  RunPlan run{.sources = {model.source()}, .jobs = {}};
  const Retrieve retrieve = retriever(plan.collection);
  for (const NamedItems& set : plan.data) {
    for (const Condition& condition : plan.conditions) {
      for (std::size_t i = 0; i < set.items.size(); ++i) {
        run.jobs.push_back(make_job(model, {model.name(), set.name, condition.name(), set.items[i].id},
                                    static_cast<Index>(i), under(condition, set.items[i], retrieve)));
      }
    }
  }
  return run;
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

void run(Ranks& ranks, const EvalOptions& options, const std::string& command) {
  const std::optional<EvaluatedRun> made = run_evaluation(ranks, options);
  if (!made) return;
  std::vector<std::string> names;
  for (const RunFlags::Named& m : options.run.read_models()) names.push_back(m.name);
  const std::string& prompt = options.run.prompts.prompt_template;
  EvalReport report{
      .title = fmt::format("Question answering: {}", fmt::join(names, ", ")),
      .lead = "The same questions with and without passages, answered by every model from the same prompt.",
      .command = command,
      .facts = {{"Data", describe(made->data)},
                {"Prompt", prompt == "auto" ? "auto (micro for the bundled models, else unified)" : prompt},
                {"Answer length", fmt::format("{} tokens", options.run.sampler.gen_length)},
                {"Buoy", BUOY_VERSION}}};
  if (options.trace) {
    report.facts.push_back({"Anchors", describe(options.analyses.analysis.anchors)});
    write_seen(*made, options.run.output);
    report.seen = &made->seen_layer_means;
  }
  write_eval(made->table, report, options.run.output);
  std::printf("%s\n%s\n", score_text(made->table).c_str(),
              (fs::path(options.run.output) / "report.html").c_str());
}

}  // namespace

std::optional<EvaluatedRun> run_evaluation(Ranks& ranks, const EvalOptions& options) {
  const std::vector<RunFlags::Named> models = options.run.read_models();
  Plan plan{.data = read_data(options.run.data, options.run.prompts),
            .conditions = read_conditions(options),
            .collection = {}};
  if (!options.collection.empty()) plan.collection.emplace(options.collection);
  RunWork work;
  work.settings = settings_of(options, plan);
  work.plan = [&](const TracingModel& model) { return plan_jobs(model, plan); };
  if (options.trace) work.trace = &options.analyses;
  const std::unique_ptr<RunStore> store = answer_all(ranks, options.run, work);
  if (!store) return std::nullopt;
  ScoreOrder order;
  for (const RunFlags::Named& m : models) order.models.push_back(m.name);
  for (const NamedItems& d : plan.data) order.data.push_back(d.name);
  for (const Condition& c : plan.conditions) order.conditions.push_back(c.name());
  EvaluatedRun made;
  made.results = store->results();
  made.table = make_score_table(made.results, order);
  made.data = std::move(plan.data);
  if (options.trace) {
    made.seen = seen_table(*store);
    made.seen_layer_means = seen_layer_means(*store);
  }
  write_samples(options.run, made.results);
  return made;
}

void add_eval(CLI::App& root) {
  auto options = std::make_shared<EvalOptions>();
  options->run.sampler.gen_length = 32;
  options->run.prompts.batch_size = 16;
  options->run.output = "buoy-eval";
  auto analysis = std::make_shared<AnalysisFlags>();
  CLI::App* verb = root.add_subcommand("eval", "Question answering with and without passages");
  verb->add_option("--passages", options->passages,
                   "none, given, or a number: the first so many; may be repeated")
      ->delimiter(',')
      ->capture_default_str();
  CLI::Option* retrieve = verb->add_option("--retrieve", options->collection,
                                           "One more condition: passages from this collection (buoy index)");
  verb->add_option("--top", options->top, "How many passages to retrieve")
      ->needs(retrieve)
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  verb->add_flag(
      "--trace", options->trace,
      "Record attention on the same pass: what the analyses say of every sample is kept beside it");
  options->run.add_to(*verb);
  analysis->add_to(*verb);
  verb->footer(
      "Every finished batch is on disk before the bar moves. Broken off, the same command goes on where it "
      "stopped; with other\n"
      "settings it refuses and says which. docs/definitions.md says how answers are scored.\n\n"
      "Examples:\n"
      "  buoy eval --steps 16 -o eval\n"
      "  buoy eval --model /models/LLaDA-8B-Instruct --data nq.jsonl --passages none,5 --limit 1000 -o nq\n"
      "  buoy eval --trace --only drift,absorption --limit 50 -o traced\n"
      "  buoy eval --retrieve wiki.db --top 5 --data nq.jsonl -o retrieved\n"
      "  buoy eval --data data/micro_gold_at_1.jsonl --data data/micro_gold_at_10.jsonl --passages given -o "
      "position\n");
  verb->callback([=] {
    if (!options->trace && !analysis->given().empty()) {
      fail_usage("{} has no effect without --trace", analysis->given());
    }
    options->analyses = analysis->options();
    on_ranks([&](Ranks& ranks) { run(ranks, *options, command_of(*verb)); });
  });
}

}  // namespace buoy
