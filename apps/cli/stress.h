// What buoy stress does, for the verb and for a study.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/intervention_flags.h"
#include "buoy/stress/stress_table.h"

namespace buoy {

struct StressRunOptions {
  RunFlags run;
  std::vector<std::string> stressors = {"irrelevant", "gold-position"};
  StressOptions stress;
  std::vector<std::string> intervene;
  InterventionFlags flags;
};

// Answers every item at every level of every stressor, and once more under each intervention, whose results
// stand under "MODEL + INTERVENTION". Nothing on ranks that do not lead. Throws Error and UsageError.
struct StressedRun {
  std::vector<NamedItems> data;
  StressResult result;
};
std::optional<StressedRun> run_stress(Ranks& ranks, const StressRunOptions& options);

}  // namespace buoy
