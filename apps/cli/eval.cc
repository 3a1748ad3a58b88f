// buoy eval: question answering with and without passages, durable and paired.
#include "study/eval.h"

#include <algorithm>
#include <cstdio>

#include <fmt/ranges.h>

#include "apps/cli/analysis_flags.h"
#include "apps/cli/progress.h"
#include "apps/cli/tracing.h"
#include "apps/cli/verb.h"
#include "base/error.h"
#include "io/file.h"
#include "io/json.h"
#include "model/fingerprint.h"
#include "report/eval_page.h"
#include "study/collection.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

struct Options {
  EngineOptions engine;
  std::vector<std::string> models = {"mini-mdm", "mini-arm"};
  std::vector<std::string> data;
  std::vector<std::string> passages = {"none", "given"};
  SamplerFlags sampler;
  DataFlags prompts;
  std::string output = "buoy-eval";
  std::string collection;  // to retrieve passages from
  Index top = 5;
  bool log_samples = false;
};

std::vector<Condition> read_conditions(const Options& options) {
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

// Everything that the answers depend on, and nothing else: not the batch, not the threads.
Json settings_of(const Options& options, const Plan& plan) {
  Json settings = {{"buoy", BUOY_VERSION},
                   {"template", options.prompts.prompt_template},
                   {"format", options.prompts.format},
                   {"limit", options.prompts.limit}};
  for (const Condition& c : plan.conditions) settings["passages"].push_back(c.name());
  if (plan.collection) {
    settings["collection"] = {{"name", plan.collection->path().filename().string()},
                              {"documents", plan.collection->count()}};
  }
  for (const NamedItems& d : plan.data) settings["data"][d.name] = fingerprint_file(d.path);
  for (const std::string& name : options.models) {
    const fs::path directory = find_model(name);
    const ModelConfig config = read_model_config(directory);
    settings["models"][fs::weakly_canonical(directory).filename().string()] = {
        {"weights", fingerprint_model(directory, Checkpoint::open(directory))},
        {"tokenizer", fingerprint_tokenizer(directory)},
        {"sampler", options.sampler.to_json(config)}};
  }
  return settings;
}

std::vector<EvalJob> plan_jobs(const TracingModel& model, Plan& plan) {
  std::vector<EvalJob> jobs;
  const Retrieve retrieve = retriever(plan.collection);
  for (const NamedItems& set : plan.data) {
    for (const Condition& condition : plan.conditions) {
      Index number = 0;
      for (const QaItem& item : set.items) {
        EvalJob job{.key = {model.name(), set.name, condition.name(), item.id},
                    .number = number++,
                    .item = under(condition, item, retrieve)};
        job.prompt = model.prompt(job.item);
        job.ids = model.example(job.item).prompt.ids;
        jobs.push_back(std::move(job));
      }
    }
  }
  return jobs;
}

Plan make_plan(const Options& options) {
  std::vector<const Family*> families;
  for (const std::string& name : options.models)
    families.push_back(read_model_config(find_model(name)).family);
  options.sampler.check_effects(families);
  Plan plan{.data = read_data(options.data, options.prompts), .conditions = read_conditions(options)};
  if (!options.collection.empty()) plan.collection.emplace(options.collection);
  return plan;
}

std::unique_ptr<RunStore> open_store(const Options& options, const Plan& plan) {
  std::error_code error;
  fs::create_directories(options.output, error);
  if (error) fail("{}: cannot be made a directory: {}", options.output, error.message());
  return std::make_unique<RunStore>(fs::path(options.output) / "run.db", settings_of(options, plan));
}

// Returns the models' names, in order.
std::vector<std::string> answer_all(Ranks& ranks, const Options& options, Plan& plan, RunStore* store) {
  std::vector<std::string> names;
  for (const std::string& name : options.models) {
    EngineOptions engine = options.engine;
    engine.model = name;
    engine.local_rank = ranks.local_rank();
    const TracingModel model(engine, options.sampler, {}, options.prompts);
    if (std::ranges::find(names, model.name()) != names.end()) {
      fail_usage("--model: two models are called {}", model.name());
    }
    names.push_back(model.name());
    std::vector<EvalJob> jobs = plan_jobs(model, plan);
    std::optional<ProgressBar> progress;
    if (ranks.leads()) progress.emplace(model.name(), std::ssize(jobs));
    evaluate_on(ranks,
                {.model = model.source().model,
                 .tokenizer = model.source().tokenizer,
                 .generate = model.source().generate},
                std::move(jobs), options.prompts.batch_size, store,
                [&](Index done) { progress->advance(done); });
  }
  return names;
}

void report(const Options& options, const Plan& plan, const RunStore& store, std::vector<std::string> models,
            const std::string& command) {
  ScoreOrder order{.models = std::move(models)};
  for (const NamedItems& d : plan.data) order.data.push_back(d.name);
  for (const Condition& c : plan.conditions) order.conditions.push_back(c.name());
  const std::vector<SampleResult> results = store.results();
  const ScoreTable table = make_score_table(results, order);
  if (options.log_samples) {
    write_file_atomically(fs::path(options.output) / "samples.jsonl", samples_jsonl(results));
  }
  std::vector<std::string> sets;
  for (const NamedItems& d : plan.data) sets.push_back(fmt::format("{} ({})", d.name, d.items.size()));
  const std::string& prompt = options.prompts.prompt_template;
  write_eval(
      table,
      {.title = fmt::format("Question answering: {}", fmt::join(order.models, ", ")),
       .lead = "The same questions with and without passages, answered by every model from the same prompt.",
       .command = command,
       .facts = {{"Data", fmt::format("{}", fmt::join(sets, ", "))},
                 {"Prompt", prompt == "auto" ? "auto (micro for the bundled models, else unified)" : prompt},
                 {"Answer length", fmt::format("{} tokens", options.sampler.gen_length)},
                 {"Buoy", BUOY_VERSION}}},
      options.output);
  std::printf("%s\n%s\n", score_text(table).c_str(), (fs::path(options.output) / "report.html").c_str());
}

void run(Ranks& ranks, const Options& options, const std::string& command) {
  Plan plan = make_plan(options);
  const std::unique_ptr<RunStore> store = ranks.leads() ? open_store(options, plan) : nullptr;
  std::vector<std::string> models = answer_all(ranks, options, plan, store.get());
  if (ranks.leads()) report(options, plan, *store, std::move(models), command);
}

// One rank that fails ends the job, so that the others do not wait for it.
void run_on_ranks(const Options& options, const std::string& command) {
  const std::unique_ptr<Ranks> ranks = Ranks::join();
  if (ranks->count() == 1) return run(*ranks, options, command);
  try {
    run(*ranks, options, command);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "buoy: rank %d: %s\n", ranks->rank(), e.what());
    ranks->abort();
  }
}

}  // namespace

void add_eval(CLI::App& root) {
  auto options = std::make_shared<Options>();
  options->sampler.gen_length = 32;
  options->prompts.batch_size = 16;
  CLI::App* verb = root.add_subcommand("eval", "Question answering with and without passages");
  verb->add_option("-m,--model", options->models, "Checkpoint directory or bundled model; may be repeated")
      ->capture_default_str();
  add_device_options(*verb, options->engine);
  verb->add_option("--data", options->data,
                   "NamedItems (docs/datasets.md); may be repeated; default: bundled questions");
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
  options->prompts.add_to(*verb);
  options->sampler.add_to(*verb);
  verb->add_flag("--log-samples", options->log_samples,
                 "Write samples.jsonl: prompt, answer, scores, commit steps, timing");
  verb->add_option("-o,--output", options->output, "Directory for run.db, scores.* and report.html")
      ->capture_default_str();
  verb->footer(
      "Every finished batch is on disk before the bar moves. Broken off, the same command goes on where it "
      "stopped; with other\n"
      "settings it refuses and says which. docs/definitions.md says how answers are scored.\n\n"
      "Examples:\n"
      "  buoy eval --steps 16 -o eval\n"
      "  buoy eval --model /models/LLaDA-8B-Instruct --data nq.jsonl --passages none,5 --limit 1000 -o nq\n"
      "  buoy eval --retrieve wiki.db --top 5 --data nq.jsonl -o retrieved\n"
      "  buoy eval --data data/micro_gold_at_1.jsonl --data data/micro_gold_at_10.jsonl --passages given -o "
      "position\n");
  verb->callback([options, verb] { run_on_ranks(*options, command_of(*verb)); });
}

}  // namespace buoy
