// What figures share around their data: heading, key, note, axes with ticks and grid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "buoy/draw/canvas.h"
#include "buoy/draw/layout.h"

namespace buoy {

// The style of tick labels, notes and small print.
inline const TextStyle kSmallText = {.size = kSmallSize, .color = kSoftInk};
inline const TextStyle kAxisTitle = {.size = kTextSize, .color = kInk};

enum class KeyShape {
  kLine,
  kDashes,
  kBar,
  kHatch,
  kPale,
  kOutline,
  kDot,
  kRing,
  kCross,
  kTick,
  kSquare,
  kDiamond,
  kTriangle
};
inline constexpr double kPaleStrength = 0.35;  // opacity of a pale bar
struct KeyEntry {
  std::string name;
  KeyShape shape = KeyShape::kLine;
  Color color = kInk;
};

// One of the last four: a small outline around a point, `radius` to each side.
void draw_outline(Canvas& canvas, Point at, KeyShape shape, double radius, Color color);

// Each draws from `y` down between x = left and right and returns the height it took, with the space below
// it; 0 for nothing to draw.
double draw_heading(Canvas& canvas, std::string_view title, Point at, double right);
double draw_key(Canvas& canvas, const std::vector<KeyEntry>& entries, Point at, double right);
double draw_note(Canvas& canvas, std::string_view note, Point at, double right);
// The title of a vertical axis, turned, at the figure's left edge: centred beside `plots` (from y to y) where
// it fits, else as close to that as the figure's height allows.
void draw_side_title(Canvas& canvas, std::string_view title, Range plots, double bottom);
// A small square in a model's colour, its left edge at `at`, its middle at the height of `at`. Takes kSwatch.
void draw_swatch(Canvas& canvas, Point at, Index color);
inline constexpr double kSwatch = 8;  // with the space after it
// Width of the key on one line.
double key_width(const Canvas& canvas, const std::vector<KeyEntry>& entries);

// A plot and the values at its edges.
struct Frame {
  Box plot;
  Range x, y;
  double at_x(double value) const { return plot.x + (value - x.low) / (x.high - x.low) * plot.width; }
  double at_y(double value) const { return plot.bottom() - (value - y.low) / (y.high - y.low) * plot.height; }
};

enum class AxisLabels { kHidden, kShown };

// Grid lines and labels left of the plot.
void draw_y_axis(Canvas& canvas, const Frame& frame, const Ticks& ticks, AxisLabels labels);
// The base line, ticks and labels below the plot.
void draw_x_axis(Canvas& canvas, const Frame& frame, const Ticks& ticks, AxisLabels labels);

// The title of a horizontal axis, below its tick labels, centred.
void draw_x_title(Canvas& canvas, std::string_view title, const Box& plot);

// As many ticks as a horizontal axis of this width can carry without labels touching.
Ticks fitting_ticks(const Canvas& canvas, Range range, double width, TickStep step);

// Width of the widest label and height of the space below a plot that its tick labels take.
double widest(const Canvas& canvas, const std::vector<std::string>& labels, const TextStyle& style);
inline constexpr double kTickLength = 2.5;
inline constexpr double kTickLabelHeight = kTickLength + 1.0 + kSmallSize * 1.2;
inline constexpr double kAxisTitleHeight = kTextSize * 1.2 + 1.5;
inline constexpr double kPanelTitle = kTextSize * 1.2 + 2.5;

}  // namespace buoy
