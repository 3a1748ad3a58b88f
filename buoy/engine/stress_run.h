// The same questions under growing stress, by every model, with and without interventions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buoy/engine/intervention_run.h"
#include "buoy/stress/stress_table.h"

namespace buoy {

struct StressRunSettings {
  RunSettings run;
  std::vector<std::string> stressors = {"irrelevant", "gold-position"};  // see parse_stress()
  StressOptions stress;
  InterventionChoice choice;  // every level once more under each of these and of their controls
};

struct StressedRun {
  std::filesystem::path output = {};  // where it was kept
  std::vector<NamedItems> data;
  StressResult result;
};

// Answers every item at every level of every stressor, and once more under each intervention and its control,
// whose results stand under "MODEL + INTERVENTION". Nothing on ranks that do not lead. Throws Error,
// UsageError and Cancelled.
std::optional<StressedRun> run_stress(Ranks& ranks, const StressRunSettings& settings, RunObserver& observer);

}  // namespace buoy
