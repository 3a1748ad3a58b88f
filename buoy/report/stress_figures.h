// The figures of the room stress: curves, bars, and an overview of what is lost at worst.
#pragma once

#include <string>
#include <vector>

#include "buoy/report/page_parts.h"
#include "buoy/stress/stress_table.h"

namespace buoy {

// At most this many models are drawn; the tables have all.
inline constexpr std::size_t kMostStressModels = 6;

// The curves of one group of stressors; views the result.
using CurveList = std::vector<const StressCurve*>;

// One row per curve that has a worst level: the points that are lost there.
std::vector<StudyFigure> worst_loss_figure(const StressResult& result, const FigureWriter& colors);

// For each data set: one figure with a panel for every numeric stressor, and bars for each categorical one
// and for stale answers.
std::vector<StudyFigure> stress_figures(const CurveList& curves, const std::string& group,
                                        const FigureWriter& colors);

}  // namespace buoy
