// What buoy eval does, for the verb and for a study.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/analysis_flags.h"
#include "apps/cli/answering.h"
#include "buoy/run/eval_table.h"

namespace buoy {

struct EvalOptions {
  RunFlags run;
  std::vector<std::string> passages = {"none", "given"};
  std::string collection;  // to retrieve passages from
  Index top = 5;
  bool trace = false;
  CollectOptions analyses;  // where `trace` is set
};

// Answers every item under every condition; nothing on ranks that do not lead. Throws Error and UsageError.
struct EvaluatedRun {
  std::vector<NamedItems> data;
  std::vector<SampleResult> results;
  ScoreTable table;
  SampleTable seen, seen_layer_means;  // where attention was traced
};
std::optional<EvaluatedRun> run_evaluation(Ranks& ranks, const EvalOptions& options);

}  // namespace buoy
