// How much interventions did, and what more of it does: doses beside those of the controls, scores over
// levels.
#pragma once

#include <vector>

#include "buoy/intervene/intervene_table.h"
#include "buoy/report/page_parts.h"

namespace buoy {

// Models whose curves are drawn, each with its control: as many as there are colours to tell them apart.
inline constexpr std::size_t kMostDoseModels = 3;

// The figure "interventions_levels" and a table of slopes; nothing where nothing was run at several levels.
std::vector<StudyFigure> dose_response_figures(const InterventionResult& result, const FigureWriter& writer);
std::vector<Block> dose_response_tables(const InterventionResult& result);

// What was done in every condition, an intervention and its control on one line; nothing where nothing was
// counted.
std::vector<Block> dose_tables(const InterventionResult& result);

}  // namespace buoy
