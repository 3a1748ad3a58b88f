#include "apps/cli/answering.h"

#include <algorithm>
#include <cstdio>

#include <fmt/ranges.h>

#include "apps/cli/progress.h"
#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/model/fingerprint.h"
#include "buoy/run/eval_table.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::string name_of(const std::string& model) {
  return fs::weakly_canonical(find_model(model)).filename().string();
}

std::unique_ptr<RunStore> open_store(const RunFlags& flags, const Json& settings) {
  std::error_code error;
  fs::create_directories(flags.output, error);
  if (error) fail("{}: cannot be made a directory: {}", flags.output, error.message());
  return std::make_unique<RunStore>(fs::path(flags.output) / "run.db", settings);
}

void answer_models(Ranks& ranks, const RunFlags& flags, const RunWork& work, RunStore* store) {
  for (const std::string& name : flags.models) {
    EngineOptions engine = flags.engine;
    engine.model = name;
    engine.local_rank = ranks.local_rank();
    const TracingModel model(engine, flags.sampler, work.record, flags.prompts);
    RunPlan plan = work.plan(model);
    std::optional<ProgressBar> progress;
    if (ranks.leads()) progress.emplace(model.name(), std::ssize(plan.jobs));
    evaluate_on(ranks, {.variants = std::move(plan.sources), .trace = work.trace}, std::move(plan.jobs),
                flags.prompts.batch_size, store, [&](Index done) { progress->advance(done); });
  }
}

}  // namespace

void RunFlags::add_to(CLI::App& verb) {
  verb.add_option("-m,--model", models, "Checkpoint directory or bundled model; may be repeated")
      ->capture_default_str();
  add_device_options(verb, engine);
  verb.add_option("--data", data, "Dataset (docs/datasets.md); may be repeated; default: bundled questions");
  prompts.add_to(verb);
  sampler.add_to(verb);
  verb.add_flag("--log-samples", log_samples,
                "Write samples.jsonl: prompt, answer, scores, commit steps, timing");
  verb.add_option("-o,--output", output, "Directory for report.html, tables, figures and run.db")
      ->capture_default_str();
}

std::vector<RunFlags::Named> RunFlags::read_models() const {
  std::vector<Named> named;
  std::vector<const Family*> families;
  for (const std::string& model : models) {
    named.push_back({name_of(model), read_model_config(find_model(model))});
    families.push_back(named.back().config.family);
    if (std::ranges::count(named, named.back().name, &Named::name) > 1) {
      fail_usage("--model: two models are called {}", named.back().name);
    }
  }
  sampler.check_effects(families);
  return named;
}

Json RunFlags::settings(std::span<const NamedItems> sets) const {
  Json settings = {{"buoy", BUOY_VERSION},
                   {"template", prompts.prompt_template},
                   {"format", prompts.format},
                   {"limit", prompts.limit}};
  for (const NamedItems& d : sets) settings["data"][d.name] = fingerprint_file(d.path);
  for (const std::string& model : models) {
    const fs::path directory = find_model(model);
    settings["models"][name_of(model)] = {
        {"weights", fingerprint_model(directory, Checkpoint::open(directory))},
        {"tokenizer", fingerprint_tokenizer(directory)},
        {"sampler", sampler.to_json(read_model_config(directory))}};
  }
  return settings;
}

void on_ranks(const std::function<void(Ranks& ranks)>& work) {
  const std::unique_ptr<Ranks> ranks = Ranks::join();
  if (ranks->count() == 1) return work(*ranks);
  // One rank that fails ends the job, so that the others do not wait for it.
  try {
    work(*ranks);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "buoy: rank %d: %s\n", ranks->rank(), e.what());
    ranks->abort();
  }
}

std::unique_ptr<RunStore> answer_all(Ranks& ranks, const RunFlags& flags, const RunWork& work) {
  std::unique_ptr<RunStore> store = ranks.leads() ? open_store(flags, work.settings) : nullptr;
  answer_models(ranks, flags, work, store.get());
  return store;
}

namespace {

SampleKey seen_key(const SampleResult& r) {
  return {.model = r.key.model,
          .data = fmt::format("{}, {}", r.key.data, r.key.condition),
          .task = r.task,
          .sample = r.key.sample};
}

}  // namespace

SampleTable seen_table(const RunStore& store) {
  SampleTable table;
  store.each_seen([&](const SampleResult& r) { table.add(seen_key(r), r.seen); });
  return table;
}

SampleTable seen_layer_means(const RunStore& store) {
  SampleTable table;
  store.each_seen([&](const SampleResult& r) {
    table.add(seen_key(r), mean_over_layers(r.seen));
    Measurements whole;
    for (const Measurement& m : r.seen) {
      if (m.layer < 0) whole.push_back(m);
    }
    table.add(seen_key(r), whole);
  });
  return table;
}

void write_samples(const RunFlags& flags, const std::vector<SampleResult>& results) {
  if (flags.log_samples) {
    write_file_atomically(fs::path(flags.output) / "samples.jsonl", samples_jsonl(results));
  }
}

EvalJob make_job(const TracingModel& model, RunKey key, Index number, const QaItem& item, QueryPlace place) {
  EvalJob job;
  job.key = std::move(key);
  job.number = number;
  job.example = model.example(item, place);
  job.prompt = model.prompt(item, place);
  return job;
}

std::string describe(std::span<const NamedItems> data) {
  std::vector<std::string> sets;
  for (const NamedItems& d : data) sets.push_back(fmt::format("{} ({})", d.name, d.items.size()));
  return fmt::format("{}", fmt::join(sets, ", "));
}

}  // namespace buoy
