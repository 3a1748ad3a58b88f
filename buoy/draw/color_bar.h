// From values to colours, and the bar that explains it.
#pragma once

#include <span>

#include "buoy/draw/canvas.h"
#include "buoy/draw/heatmap.h"
#include "buoy/draw/layout.h"

namespace buoy {

// A colour scale with its ends settled.
struct Shade {
  ColorMap map = ColorMap::kViridis;
  ValueScale scale = ValueScale::kLinear;
  Range range;
  // NaN gives kBlank.
  Color operator()(double value) const;
  // From 0 to 1 along the bar.
  double place(double value) const;
};

// What becomes of the map's cells in the dark.
constexpr CellsInTheDark in_the_dark(ColorMap map) {
  return map == ColorMap::kViridis ? CellsInTheDark::kKept : CellsInTheDark::kTurned;
}

// Settles the ends from the values of all panels that share the scale. Throws Error naming `place` when the
// scale's own low and high are not ascending, or not positive on a log scale.
Shade settle(const ColorScale& scale, std::span<const std::span<const float>> values,
             const std::string& place);

// The bar with its title to the left and ticks below, flush right at at.x, from at.y down.
inline constexpr double kColorBarHeight = 20;
double color_bar_width(const Canvas& canvas, const ColorScale& scale, double bar);
void draw_color_bar(Canvas& canvas, const Shade& shade, const ColorScale& scale, Point right_top, double bar);

}  // namespace buoy
