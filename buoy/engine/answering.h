// What eval, stress, intervene and a study's traces share: a durable run over models, datasets and
// conditions, on one process or many.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "buoy/engine/run_settings.h"
#include "buoy/run/eval.h"

namespace buoy {

// The samples of one model. `sources` has one entry for each variant that the jobs name.
struct RunPlan {
  std::vector<TraceSource> sources;
  std::vector<EvalJob> jobs;
};

struct RunWork {
  std::function<RunPlan(const TracingModel&)>
      plan;                               // called for each model, with the same result on every rank
  const CollectOptions* trace = nullptr;  // see EvalModel
};

// Opens or resumes OUTPUT/run.db, answers what is missing and gives the store back: on rank 0; the others get
// nullptr when all is done. `described` is everything that the answers depend on. Throws Error, UsageError
// and Cancelled.
std::unique_ptr<RunStore> answer_all(Ranks& ranks, const RunSettings& settings, const Json& described,
                                     const RunWork& work, RunObserver& observer);

// What was seen while samples were answered; the dataset of a sample reads "DATA, CONDITION".
SampleTable seen_table(const RunStore& store);
// The same averaged over layers.
SampleTable seen_layer_means(const RunStore& store);

// Writes OUTPUT/samples.jsonl where it was asked for.
void write_samples(const RunSettings& settings, const std::vector<SampleResult>& results);

// A sample of a run, ready to be answered.
EvalJob make_job(const TracingModel& model, RunKey key, Index number, const QaItem& item,
                 QueryPlace place = QueryPlace::kAsWritten);

}  // namespace buoy
