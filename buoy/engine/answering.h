// What eval, stress, intervene and a study's traces share: a durable run over models, datasets and
// conditions, on one process or many.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "buoy/engine/run_settings.h"
#include "buoy/run/eval.h"
#include "buoy/run/run_identity.h"

namespace buoy {

// A sample of a run before its prompt is made.
struct PlannedItem {
  RunKey key;
  Index number = 0;  // place in the dataset
  QaItem item;       // as its condition has it
  QueryPlace place = QueryPlace::kAsWritten;
  Index variant = 0;  // in RunPlan::variants
};

// What a model does under: sampler settings and, where it is set, an intervention.
struct RunVariant {
  SamplerSettings sampler;
  const InterventionSettings* intervention = nullptr;
};

// The samples of one model. Needs no weights: what is too long is known before any model is loaded.
struct RunPlan {
  std::vector<RunVariant> variants;
  std::vector<PlannedItem> items;
};

struct RunWork {
  RunIdentity identity;
  // Called for each model, possibly more than once, with the same result on every rank.
  std::function<RunPlan(const NamedModel&)> plan;
  // Called with each loaded model before its plan is carried out; may be empty.
  std::function<void(const TracingModel&)> prepare;
  // On rank 0, once the store is open: what all ranks must have alike (retrieved passages). May be empty.
  std::function<Json(RunStore&)> gather;
  // On every rank, with what rank 0 gathered. May be empty.
  std::function<void(const Json&)> take;
  const CollectOptions* trace = nullptr;  // see EvalModel
};

// Opens or resumes OUTPUT/run.db, answers what is missing and gives the store back: on rank 0; the others get
// nullptr when all is done. Before any work the ranks compare what they would work on, and prompts that are
// too long are dealt with as the settings say. Where the settings allow it `settings.output` becomes another
// folder beside one that holds another run. Throws Error, UsageError and Cancelled.
std::unique_ptr<RunStore> answer_all(Ranks& ranks, RunSettings& settings, const RunWork& work,
                                     RunObserver& observer);

// The models of a run in the order they came, those of earlier commands too.
std::vector<std::string> models_of(const RunStore& store);

// What was seen while samples were answered; the dataset of a sample reads "DATA, CONDITION".
SampleTable seen_table(const RunStore& store);
// The same averaged over layers.
SampleTable seen_layer_means(const RunStore& store);

// Writes OUTPUT/samples.jsonl where it was asked for.
void write_samples(const RunSettings& settings, const RunStore& store);

}  // namespace buoy
