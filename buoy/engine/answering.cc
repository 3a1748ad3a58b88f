#include "buoy/engine/answering.h"

#include <map>

#include "buoy/base/error.h"
#include "buoy/engine/long_prompts.h"
#include "buoy/engine/run_place.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/run/eval_table.h"
#include "buoy/run/run_reader.h"
#include "buoy/run/share_out.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<RunStore> open_store(const RunSettings& settings, const RunIdentity& identity) {
  std::error_code error;
  fs::create_directories(settings.output, error);
  if (error) fail("{}: cannot be made a directory: {}", settings.output.string(), error.message());
  return std::make_unique<RunStore>(settings.output / "run.db", identity);
}

// What ranks compare: the settings, and one hash for each dataset.
Json compared(const RunIdentity& identity) {
  std::map<std::string, Json> items;
  for (const RunItem& item : identity.items) items[item.data].push_back({item.sample, item.hash});
  Json json = {{"settings", identity.settings}};
  for (const auto& [data, list] : items) json["data"][data] = hash_of(list);
  return json;
}

void tell_kept(const RunStore& store, RunObserver& observer) {
  const std::size_t samples = store.done().size();
  if (samples > 0) {
    observer.kept(fmt::format("{} sample{} in {}", samples, samples == 1 ? "" : "s",
                              store.path().parent_path().string()));
  }
}

EvalJob make_job(const TracingModel& model, PlannedItem planned) {
  EvalJob job;
  job.prompt = model.prompt(planned.item, planned.place);
  job.example = model.example(planned.item, planned.place);
  job.key = std::move(planned.key);
  job.number = planned.number;
  job.variant = planned.variant;
  return job;
}

// What the jobs are answered from; jobs of interventions share what they are answered from.
void store_inputs(RunStore& store, const std::vector<EvalJob>& jobs, const RunSettings& settings) {
  std::vector<RunInput> inputs;
  std::vector<std::pair<RunKey, std::vector<Index>>> ids;
  for (const EvalJob& job : jobs) {
    const QaItem& item = job.example.item;
    inputs.push_back({.data = job.key.data,
                      .condition = job.key.condition,
                      .sample = job.key.sample,
                      .question = item.question,
                      .answers = item.answers,
                      .passages = item.passages});
    const std::vector<TokenId>& prompt = job.example.prompt.ids;
    if (settings.log_ids) ids.emplace_back(job.key, std::vector<Index>(prompt.begin(), prompt.end()));
  }
  store.add_inputs(inputs);
  if (!ids.empty()) store.add_prompt_ids(ids);
}

SampleKey seen_key(const SampleResult& r) {
  return {.model = r.key.model,
          .data = fmt::format("{}, {}", r.key.data, r.key.condition),
          .task = r.task,
          .sample = r.key.sample,
          .question = r.question};
}

void answer_with(Ranks& ranks, const RunSettings& settings, const RunWork& work, const NamedModel& named,
                 const Fitting& fitting, RunStore* store, RunObserver& observer) {
  const TracingModel model(settings.model(named.given, ranks.local_rank()), settings.sampler_of(named.given),
                           {}, settings.prompt_of(named.given), &observer);
  if (ranks.leads()) observer.note(fmt::format("{} on {}", model.name(), model.loaded().device()));
  if (work.prepare) work.prepare(model);
  RunPlan plan = work.plan(named);
  fitting.apply(plan);
  EvalModel answering{.variants = {}, .trace = work.trace};
  for (const RunVariant& v : plan.variants) {
    answering.variants.push_back(model.variant(v.sampler, v.intervention));
  }
  std::vector<EvalJob> jobs;
  for (PlannedItem& item : plan.items) jobs.push_back(make_job(model, std::move(item)));
  if (store != nullptr) store_inputs(*store, jobs, settings);
  if (ranks.leads()) {
    observer.begin(model.name(), std::ssize(jobs));
    observer.already(
        std::ranges::count_if(jobs, [&](const EvalJob& job) { return store->done().contains(job.key); }));
  }
  evaluate_on(ranks, answering, std::move(jobs), settings.batch_size, store, [&](Index done) {
    observer.advance(done);
    tell_kept(*store, observer);
  });
}

}  // namespace

std::unique_ptr<RunStore> answer_all(Ranks& ranks, RunSettings& settings, const RunWork& work,
                                     RunObserver& observer) {
  for (const NamedModel& m : read_models(settings)) {
    if (work.trace != nullptr) check_watchable(settings.sampler_of(m.given), m.config, "recording");
  }
  agree(ranks, compared(work.identity));
  std::unique_ptr<RunStore> store;
  Json shared;
  if (ranks.leads()) {
    settings.output = place_of_run(settings, work.identity, observer);
    store = open_store(settings, work.identity);
    if (!store->done().empty()) {
      const std::size_t there = store->done().size();
      observer.found(fmt::format("{}: {} there already", store->path().string(),
                                 there == 1 ? "1 sample was" : fmt::format("{} samples were", there)));
      tell_kept(*store, observer);
    }
    store->add_session(describe_session(settings, ranks.count()));
    shared = {{"output", settings.output.string()}, {"gathered", work.gather ? work.gather(*store) : Json()}};
  }
  shared = share(ranks, shared);
  settings.output = shared["output"].get<std::string>();
  if (work.take) work.take(shared["gathered"]);
  const std::vector<NamedModel> models = read_models(settings);
  const Fitting fitting = fit_prompts(settings, models, work.plan, ranks.leads() ? &observer : nullptr);
  for (const NamedModel& named : models) {
    answer_with(ranks, settings, work, named, fitting, store.get(), observer);
  }
  if (ranks.leads()) observer.end();
  return store;
}

std::vector<std::string> models_of(const RunStore& store) {
  std::vector<std::string> names;
  const Json settings = store.settings();
  for (const auto& [name, described] : settings["models"].items()) names.push_back(name);
  return names;
}

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

void write_samples(const RunSettings& settings, const RunStore& store) {
  if (!settings.log_samples && !settings.log_ids) return;
  write_file_atomically(settings.output / "samples.jsonl", samples_jsonl(RunReader(store.path())));
}

}  // namespace buoy
