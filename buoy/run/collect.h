// Gathers what the analyses say of many traces: rows of numbers for all, whole traces for a few examples.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/analysis/analyses.h"
#include "buoy/analysis/null_model.h"
#include "buoy/analysis/sample_table.h"
#include "buoy/io/json_fwd.h"
#include "buoy/probe/trace.h"

namespace buoy {

// The three matrices behind one head's attention to one example, for a figure. N×N, so only on request and up
// to kMaxQkPositions.
inline constexpr Index kMaxQkPositions = 1024;
struct QkExample {
  Index layer = 0, head = 0;
  std::vector<float> score, cosine, norm;  // [N, N]; queries × keys; NaN where a query may not look
};

struct StudiedModel {
  std::string name, hash;
  std::string kind = "";  // of which there are others like it; empty: none of that kind but itself
  Writing writing = Writing::kFillsMasks;
  Index layers = 0, heads = 0;
  Index samples = 0, answered = 0, correct = 0;  // answered: those whose right answer is known
  std::string settings;                          // as in the traces' headers
  std::vector<Trace> examples;
  std::vector<QkExample> qk;  // of examples[0]
};

// A question that was traced, and what every model made of it.
struct TracedQuestion {
  struct Answer {
    std::string model, text;
    std::optional<bool> correct;  // exact match; nothing where no answer is known
  };
  std::string data, sample, question;
  std::vector<std::string> gold;  // answers that count as right
  std::vector<Answer> answers;    // in the order they were collected
};

struct CollectOptions {
  AnalysisOptions analysis;
  std::vector<const Analysis*> analyses;  // in order
  Index examples = 1;                     // traces kept of each model
  bool nulls = false;                     // frozen and recency attention too, for verdicts
};

// The same numbers of the same samples from attention of which a claim must not hold.
struct CollectedNull {
  NullKind kind = NullKind::kUniform;
  Index number = 0;                         // among those of its kind: twins are several
  SampleTable table, layer_means, by_gold;  // as in StudyResult
};

// All that a report is written from.
struct StudyResult {
  CollectOptions options;
  std::vector<StudiedModel> models;
  SampleTable table;                      // every measurement of every sample
  SampleTable layer_means;                // the same, averaged over layers within each sample
  SampleTable by_gold;                    // flow again, with "gold at 3" in place of the dataset's name
  std::vector<CollectedNull> nulls;       // all that were collected, but for the uniform one
  std::vector<TracedQuestion> questions;  // in the order they were first collected
  std::vector<std::string> warnings;
};

// For records.
Json to_json(const CollectOptions& options);

// "excess, ε = 3, lift ≥ 2", "topk, k = 5".
std::string describe(const AnchorOptions& options);

// Adds one sample. Traces of one name must come from the same model. Throws Error when they do not, or when
// the sample is there already.
// With options.nulls its frozen and its recency null are collected beside it; the recency null of a model
// with state space layers always, since these forget with distance by construction.
void collect(StudyResult& result, Trace trace, const std::string& data);

// Adds what one sample is under a null, the number-th of its kind. The trace is called as the model whose
// null it is.
void collect_null(StudyResult& result, NullKind kind, const Trace& trace, const std::string& data,
                  Index number = 0);

// Adds what can be said of a sample only beside the others. Once, after the last one.
void finish_collecting(StudyResult& result);

// Means over layers of what is measured per layer and for no one head: Σ values and Σ weights.
Measurements mean_over_layers(const Measurements& measurements);

// From a head's queries and keys, [N, D] each.
QkExample qk_example(std::span<const float> queries, std::span<const float> keys, Index D, const Mask& mask);

}  // namespace buoy
