// Question answering: every item under every condition, by every model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buoy/engine/answering.h"
#include "buoy/run/eval_table.h"

namespace buoy {

struct EvaluationSettings {
  RunSettings run;
  std::vector<std::string> passages = {"none", "given"};  // see parse_condition()
  std::filesystem::path collection;                       // to retrieve passages from; empty: none
  Index top = 5;                                          // how many
  std::optional<CollectOptions> trace;                    // set: attention is recorded on the same pass
};

struct EvaluatedRun {
  std::filesystem::path output;  // where it was kept
  std::vector<NamedItems> data;
  std::vector<SampleResult> results;
  ScoreTable table;
  std::string about;                   // JSON: settings, sessions, collections: see about_run()
  SampleTable seen, seen_layer_means;  // where attention was traced
};

// Nothing on ranks that do not lead. Throws Error, UsageError and Cancelled.
std::optional<EvaluatedRun> run_evaluation(Ranks& ranks, const EvaluationSettings& settings,
                                           RunObserver& observer);

}  // namespace buoy
