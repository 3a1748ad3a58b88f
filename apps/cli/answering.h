// What eval, stress and intervene share: a durable run over models, datasets and conditions, on one process
// or many.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/cli/tracing.h"
#include "buoy/io/json.h"
#include "buoy/run/eval.h"

namespace buoy {

struct RunFlags {
  EngineOptions engine;
  std::vector<std::string> models = {"mini-mdm", "mini-arm"};
  std::vector<std::string> data;
  SamplerFlags sampler;
  DataFlags prompts;
  std::string output;
  bool log_samples = false;

  // Adds --model, --data, --output, --log-samples and the flags of the parts.
  void add_to(CLI::App& verb);

  // The models as read from their config.json, in order. Throws UsageError for two of one name and for
  // sampler flags that mean nothing to any of them.
  struct Named {
    std::string name;
    ModelConfig config;
  };
  std::vector<Named> read_models() const;

  // Everything that answers depend on and that these flags say: not the batch, not the threads.
  Json settings(std::span<const NamedItems> data) const;
};

// The samples of one model. `sources` has one entry for each variant that the jobs name.
struct RunPlan {
  std::vector<TraceSource> sources;
  std::vector<EvalJob> jobs;
};

struct RunWork {
  Json settings;  // what the answers depend on
  std::function<RunPlan(const TracingModel&)>
      plan;                               // called for each model, with the same result on every rank
  const CollectOptions* trace = nullptr;  // see EvalModel
  RecordFlags record;                     // where `trace` is set
};

// Does the work on every rank of the job that this process was started in, or on this process alone. A rank
// that fails ends the job, saying why.
void on_ranks(const std::function<void(Ranks& ranks)>& work);

// Opens or resumes OUTPUT/run.db, answers what is missing and gives the store back: on rank 0; the others get
// nullptr when all is done. Throws Error and UsageError.
std::unique_ptr<RunStore> answer_all(Ranks& ranks, const RunFlags& flags, const RunWork& work);

// What was seen while samples were answered; the dataset of a sample reads "DATA, CONDITION".
SampleTable seen_table(const RunStore& store);
// The same averaged over layers.
SampleTable seen_layer_means(const RunStore& store);

// Writes OUTPUT/samples.jsonl where it was asked for.
void write_samples(const RunFlags& flags, const std::vector<SampleResult>& results);

// A sample of a run, ready to be answered.
EvalJob make_job(const TracingModel& model, RunKey key, Index number, const QaItem& item,
                 QueryPlace place = QueryPlace::kAsWritten);

// "micro_test (100), other (20)": for reports.
std::string describe(std::span<const NamedItems> data);

}  // namespace buoy
