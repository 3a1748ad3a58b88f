// Question answering: every item under every condition, in batches, each sample stored as soon as it is done.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "buoy/run/ranks.h"
#include "buoy/run/run_store.h"
#include "buoy/run/tracer.h"

namespace buoy {

// How many passages a prompt gets.
struct Condition {
  enum class Kind { kNone, kGiven, kFirst, kRetrieved } kind = Kind::kGiven;
  Index count = 0;  // of kFirst and kRetrieved

  std::string name() const;  // "none", "given", "first 3", "retrieved 5"
};

// "none", "given" or a number. Throws UsageError.
Condition parse_condition(const std::string& text);

// Passages for a question from a collection.
using Retrieve = std::function<std::vector<QaPassage>(const std::string& question, Index top)>;

// The item as a condition has it.
QaItem under(const Condition& condition, const QaItem& item, const Retrieve& retrieve);

// One sample to be answered.
struct EvalJob {
  RunKey key;
  Index number = 0;      // place in the dataset: names the stream of random draws
  Index variant = 0;     // of the model
  TraceExample example;  // the item as its condition has it
  std::string prompt;
};

// A model, in one variant or several: other sampler settings, or under an intervention. A batch has jobs of
// one variant.
struct EvalModel {
  std::vector<TraceSource> variants;
  // Set: attention is recorded on the same pass, and each sample keeps what these analyses say of it, layer
  // by layer; numbers of single heads are left out.
  const CollectOptions* trace = nullptr;
};

// A batch of results as text, from one rank to another.
std::string to_message(std::span<const SampleResult> results);
std::vector<SampleResult> from_message(const std::string& text);

// The same on many ranks, all of which call it with the same jobs: rank 0 hands out batches and stores what
// comes back, the others answer, each taking the next batch as it finishes one. `store` is rank 0's; the
// others pass nullptr. Alone it is evaluate().
void evaluate_on(Ranks& ranks, const EvalModel& model, std::vector<EvalJob> jobs, Index batch_size,
                 RunStore* store, const std::function<void(Index done)>& progress);

// Answers the jobs that the store does not have yet, similar lengths together, and stores each batch before
// `progress` is told how many it had. A sample's answer depends neither on its batch nor on what was done
// before. Throws Error; what is stored stays.
void evaluate(const EvalModel& model, std::vector<EvalJob> jobs, Index batch_size, RunStore& store,
              const std::function<void(Index done)>& progress);

}  // namespace buoy
