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

struct EvalData {
  std::string name;
  fs::path path;
  std::vector<QaItem> items;
};

std::vector<EvalData> read_data(const Options& options) {
  std::vector<fs::path> paths(options.data.begin(), options.data.end());
  if (paths.empty()) paths = {fs::path(BUOY_SOURCE_DIR) / "data" / "micro_test.jsonl"};
  const auto limit = options.prompts.limit > 0 ? std::optional(options.prompts.limit) : std::nullopt;
  std::vector<EvalData> data;
  for (const fs::path& path : paths) {
    const std::string name = path.stem().string();
    if (std::ranges::find(data, name, &EvalData::name) != data.end()) {
      fail_usage("--data: two datasets are called {}", name);
    }
    data.push_back({name, path, read_dataset(path, limit, print_warning)});
  }
  return data;
}

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

// Everything that the answers depend on, and nothing else: not the batch, not the threads.
Json settings_of(const Options& options, std::span<const EvalData> data,
                 std::span<const Condition> conditions, const std::optional<Collection>& collection) {
  Json settings = {{"buoy", BUOY_VERSION},
                   {"template", options.prompts.prompt_template},
                   {"limit", options.prompts.limit}};
  for (const Condition& c : conditions) settings["passages"].push_back(c.name());
  if (collection) {
    settings["collection"] = {{"name", collection->path().filename().string()},
                              {"documents", collection->count()}};
  }
  for (const EvalData& d : data) settings["data"][d.name] = fingerprint_file(d.path);
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

std::vector<EvalJob> plan_jobs(const TracingModel& model, std::span<const EvalData> data,
                               std::span<const Condition> conditions, const Retrieve& retrieve) {
  std::vector<EvalJob> jobs;
  for (const EvalData& set : data) {
    for (const Condition& condition : conditions) {
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

void run(const Options& options, const std::string& command) {
  std::vector<const Family*> families;
  for (const std::string& name : options.models)
    families.push_back(read_model_config(find_model(name)).family);
  options.sampler.check_effects(families);
  const std::vector<EvalData> data = read_data(options);
  const std::vector<Condition> conditions = read_conditions(options);
  std::optional<Collection> collection;
  if (!options.collection.empty()) collection.emplace(options.collection);
  std::error_code error;
  fs::create_directories(options.output, error);
  if (error) fail("{}: cannot be made a directory: {}", options.output, error.message());
  RunStore store(fs::path(options.output) / "run.db", settings_of(options, data, conditions, collection));

  ScoreOrder order;
  for (const EvalData& d : data) order.data.push_back(d.name);
  for (const Condition& c : conditions) order.conditions.push_back(c.name());
  for (const std::string& name : options.models) {
    EngineOptions engine = options.engine;
    engine.model = name;
    const TracingModel model(engine, options.sampler, {}, options.prompts);
    if (std::ranges::find(order.models, model.name()) != order.models.end()) {
      fail_usage("--model: two models are called {}", model.name());
    }
    order.models.push_back(model.name());
    std::vector<EvalJob> jobs = plan_jobs(model, data, conditions, retriever(collection));
    ProgressBar progress(model.name(), std::ssize(jobs));
    evaluate({.model = model.source().model,
              .tokenizer = model.source().tokenizer,
              .generate = model.source().generate},
             std::move(jobs), options.prompts.batch_size, store, [&](Index done) { progress.advance(done); });
  }

  const std::vector<SampleResult> results = store.results();
  const ScoreTable table = make_score_table(results, order);
  if (options.log_samples)
    write_file_atomically(fs::path(options.output) / "samples.jsonl", samples_jsonl(results));
  std::vector<std::string> sets;
  for (const EvalData& d : data) sets.push_back(fmt::format("{} ({})", d.name, d.items.size()));
  write_eval(
      table,
      {.title = fmt::format("Question answering: {}", fmt::join(order.models, ", ")),
       .lead = "The same questions with and without passages, answered by every model from the same prompt.",
       .command = command,
       .facts = {{"Data", fmt::format("{}", fmt::join(sets, ", "))},
                 {"Prompt", options.prompts.prompt_template == "auto"
                                ? "auto (micro for the bundled models, else unified)"
                                : options.prompts.prompt_template},
                 {"Answer length", fmt::format("{} tokens", options.sampler.gen_length)},
                 {"Buoy", BUOY_VERSION}}},
      options.output);
  std::printf("%s\n%s\n", score_text(table).c_str(), (fs::path(options.output) / "report.html").c_str());
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
                   "EvalData (docs/datasets.md); may be repeated; default: bundled questions");
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
  verb->callback([options, verb] { run(*options, command_of(*verb)); });
}

}  // namespace buoy
