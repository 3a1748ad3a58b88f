// Shows what comes of the room intervene: what each intervention changes in the answers, beside its control,
// and in what the probe sees.
#pragma once

#include <filesystem>
#include <vector>

#include "buoy/intervene/intervene_table.h"
#include "buoy/report/page_parts.h"

namespace buoy {

// Draws the figures "interventions*" and returns the sections: "interventions", with doses and what more of
// it does, and, where attention was traced, "interventions-seen". Nothing for a result without rows. Throws
// Error naming what cannot be written.
std::vector<Section> intervene_sections(const InterventionResult& result, const FigureWriter& writer);

struct InterveneReport {
  std::string title, lead, command;
  std::vector<Fact> facts;
};

// Writes report.html, interventions.csv and the figures into `directory`. Throws Error.
void write_intervene(const InterventionResult& result, const InterveneReport& report,
                     const std::filesystem::path& directory, const FigureOptions& options = {});

}  // namespace buoy
