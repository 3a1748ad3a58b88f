// The slope of a line through points.
#pragma once

#include <optional>
#include <span>

#include "buoy/analysis/mean.h"

namespace buoy {

struct Point {
  double x, y;
};

// Least squares. Nothing where the x are all equal, or there are fewer than two.
inline std::optional<double> slope(std::span<const Point> points) {
  if (points.size() < 2) return std::nullopt;
  Mean x, y;
  for (const Point& p : points) {
    x.add(p.x);
    y.add(p.y);
  }
  double xx = 0, xy = 0;
  for (const Point& p : points) {
    xx += (p.x - x.value()) * (p.x - x.value());
    xy += (p.x - x.value()) * (p.y - y.value());
  }
  return xx > 0 ? std::optional(xy / xx) : std::nullopt;
}

}  // namespace buoy
