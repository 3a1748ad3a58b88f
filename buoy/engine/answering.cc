#include "buoy/engine/answering.h"

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/run/eval_table.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<RunStore> open_store(const RunSettings& settings, const Json& described) {
  std::error_code error;
  fs::create_directories(settings.output, error);
  if (error) fail("{}: cannot be made a directory: {}", settings.output.string(), error.message());
  return std::make_unique<RunStore>(settings.output / "run.db", described);
}

SampleKey seen_key(const SampleResult& r) {
  return {.model = r.key.model,
          .data = fmt::format("{}, {}", r.key.data, r.key.condition),
          .task = r.task,
          .sample = r.key.sample,
          .question = r.question};
}

}  // namespace

std::unique_ptr<RunStore> answer_all(Ranks& ranks, const RunSettings& settings, const Json& described,
                                     const RunWork& work, RunObserver& observer) {
  std::unique_ptr<RunStore> store = ranks.leads() ? open_store(settings, described) : nullptr;
  for (const std::string& name : settings.models) {
    const TracingModel model(settings.model(name, ranks.local_rank()), settings.sampler, {}, settings.prompt,
                             &observer);
    if (ranks.leads()) observer.note(fmt::format("{} on {}", model.name(), model.loaded().device()));
    RunPlan plan = work.plan(model);
    if (ranks.leads()) observer.begin(model.name(), std::ssize(plan.jobs));
    evaluate_on(ranks, {.variants = std::move(plan.sources), .trace = work.trace}, std::move(plan.jobs),
                settings.batch_size, store.get(), [&](Index done) { observer.advance(done); });
  }
  if (ranks.leads()) observer.end();
  return store;
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

void write_samples(const RunSettings& settings, const std::vector<SampleResult>& results) {
  if (settings.log_samples) {
    write_file_atomically(settings.output / "samples.jsonl", samples_jsonl(results));
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

}  // namespace buoy
