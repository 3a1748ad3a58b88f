// Score against how much is touched: an intervention at several levels, beside its control.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buoy/analysis/sample_table.h"

namespace buoy {

struct InterventionCondition;

// Exact match at a level, in points against no intervention, paired by item; nothing where no item has both.
struct DosePoint {
  Index level = 0;
  std::optional<Summary> change, control_change;
};

// One model under one intervention at two levels or more. Slopes are in points of exact match per key (or
// head): each item has its own least-squares line over all levels, with no intervention as level 0; their
// mean is the slope of the mean curve, and its interval comes from the questions. Only items that have all
// levels count.
struct DoseCurve {
  std::string model, intervention;  // "mask-anchors"
  std::string control;              // "mask-random"; empty: it has none
  std::vector<DosePoint> points;    // by level, without 0
  Summary slope;
  std::optional<Summary> control_slope, slope_beyond;  // of the control; slope − that, paired by item
};

// `answers` as for make_intervention_result(); the conditions' kinds and levels say what belongs together.
// Curves that no item has all of are left out.
std::vector<DoseCurve> dose_curves(const SampleTable& answers, std::span<const std::string> models,
                                   std::span<const InterventionCondition> conditions);

}  // namespace buoy
