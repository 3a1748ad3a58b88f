// What caches buy against what they cost, as points of a panel with the front of those that none beats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buoy/analysis/sample_table.h"
#include "buoy/draw/figure.h"

namespace buoy {

struct ParetoPoint {
  std::string name;
  Index color = 0;
  Summary speed, closeness;  // to the right and up is better
};

struct ParetoAxis {
  std::string title;
  double exact = 0;            // closeness of the exact run, whose speed is 1
  std::optional<double> most;  // closeness cannot exceed it, nor may its intervals
};

// The points with their intervals, the exact run as one without a name, and a line without a name from point
// to point of those that no other beats on both axes. Intervals of speed end at 0.
CurvePanel pareto_panel(const ParetoAxis& axis, const std::vector<ParetoPoint>& points);

// From the panel's own data, `always` among them: panels of one figure are of different units.
void set_own_range(CurvePanel& panel, double always);

}  // namespace buoy
