// What buoy intervene does, for the verb and for a study.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/analysis_flags.h"
#include "apps/cli/intervention_flags.h"
#include "buoy/intervene/intervene_table.h"

namespace buoy {

struct InterveneOptions {
  RunFlags run;
  std::vector<std::string> interventions = {"mask-bos", "mask-anchors=5", "pin-anchors=steps",
                                            "pin-anchors=layers", "cut-heads=8"};
  InterventionFlags flags;
  std::string passages = "given";
  bool trace = true;
  CollectOptions analyses;  // where `trace` is set
};

// Answers every item without any intervention, under each, and under the control of each; nothing on ranks
// that do not lead. Throws Error and UsageError.
struct IntervenedRun {
  std::vector<NamedItems> data;
  InterventionResult result;
};
std::optional<IntervenedRun> run_interventions(Ranks& ranks, const InterveneOptions& options);

}  // namespace buoy
