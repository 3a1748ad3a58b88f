#include "buoy/report/audit_pareto.h"

#include <algorithm>
#include <cmath>

namespace buoy {
namespace {

struct Place {
  double x = 0, y = 0;
};

bool beats(const Place& a, const Place& b) {
  return a.x >= b.x && a.y >= b.y && (a.x > b.x || a.y > b.y);
}

Series front_of(std::vector<Place> places) {
  const std::vector<Place> all = places;
  std::erase_if(places, [&](const Place& p) {
    return std::ranges::any_of(all, [&](const Place& other) { return beats(other, p); });
  });
  std::ranges::sort(places, {}, &Place::x);
  Series line{.name = "", .x = {}, .y = {}};
  for (const Place& p : places) {
    line.x.push_back(p.x);
    line.y.push_back(p.y);
  }
  return line;
}

// A dot with a vertical bar, and a line across in the same colour.
void add_point(CurvePanel& panel, const ParetoAxis& axis, const ParetoPoint& point) {
  const Summary &x = point.speed, &y = point.closeness;
  const auto within = [&](double value) { return axis.most ? std::min(value, *axis.most) : value; };
  if (x.lo && x.hi && *x.hi > *x.lo) {
    panel.series.push_back({.name = point.name,
                            .x = {std::max(0.0, *x.lo), *x.hi},
                            .y = {y.mean, y.mean},
                            .color = point.color});
  }
  panel.series.push_back({.name = point.name,
                          .x = {x.mean},
                          .y = {y.mean},
                          .low = {within(y.lo.value_or(y.mean))},
                          .high = {within(y.hi.value_or(y.mean))},
                          .markers = Markers::kDots,
                          .color = point.color});
}

}  // namespace

void set_own_range(CurvePanel& panel, double always) {
  double low = always, high = always;
  for (const Series& s : panel.series) {
    for (const auto* values : {&s.y, &s.low, &s.high}) {
      for (const double v : *values) {
        if (!std::isfinite(v)) continue;
        low = std::min(low, v);
        high = std::max(high, v);
      }
    }
  }
  const double room = high > low ? 0.06 * (high - low) : 1;
  panel.y_range = Range{low < always ? low - room : low, high > always ? high + room : high};
  if (low == high) panel.y_range = Range{low - room, high + room};
}

CurvePanel pareto_panel(const ParetoAxis& axis, const std::vector<ParetoPoint>& points) {
  CurvePanel panel{.title = axis.title, .series = {}};
  if (points.empty()) return panel;
  std::vector<Place> places = {{1, axis.exact}};
  for (const ParetoPoint& p : points) places.push_back({p.speed.mean, p.closeness.mean});
  panel.series.push_back(front_of(std::move(places)));
  for (const ParetoPoint& p : points) add_point(panel, axis, p);
  panel.series.push_back({.name = "", .x = {1}, .y = {axis.exact}, .markers = Markers::kDots});
  set_own_range(panel, axis.exact);
  // So that a dot at the limit is whole; no tick stands beyond it.
  if (axis.most) panel.y_range->high = *axis.most + 0.03 * (*axis.most - panel.y_range->low);
  return panel;
}

}  // namespace buoy
