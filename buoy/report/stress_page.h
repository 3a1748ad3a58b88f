// Shows what comes of the room stress: curves over levels for every model, what is lost at worst, slopes,
// stale answers.
#pragma once

#include <filesystem>
#include <vector>

#include "buoy/report/page_parts.h"
#include "buoy/stress/stress_table.h"

namespace buoy {

// Draws the figures "stress*" and returns the sections: an overview with id "stress" and one for each group
// of stressors ("stress-noise" …) that has results. Nothing for a result without curves. Throws Error naming
// what cannot be written.
std::vector<Section> stress_sections(const StressResult& result, const FigureWriter& writer);

struct StressReport {
  std::string title, lead, command;
  std::vector<Fact> facts;
};

// Writes report.html, stress.csv, robustness.csv and the figures into `directory`. Throws Error.
void write_stress(const StressResult& result, const StressReport& report,
                  const std::filesystem::path& directory, const FigureOptions& options = {});

}  // namespace buoy
