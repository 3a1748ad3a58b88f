#include "buoy/draw/color_bar.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "buoy/base/error.h"
#include "buoy/draw/chrome.h"

namespace buoy {
namespace {

constexpr double kBarThickness = 5;
constexpr Index kBarSteps = 128;

// What an axis of this scale is linear in.
double stretched(double value, ValueScale scale) {
  switch (scale) {
    case ValueScale::kLinear:
      return value;
    case ValueScale::kSqrt:
      return std::copysign(std::sqrt(std::abs(value)), value);
    case ValueScale::kLog:
      return std::log10(value);
  }
  return value;
}

double value_at(const Shade& shade, double place) {
  const double low = stretched(shade.range.low, shade.scale), high = stretched(shade.range.high, shade.scale);
  const double inner = std::lerp(low, high, place);
  switch (shade.scale) {
    case ValueScale::kLinear:
      return inner;
    case ValueScale::kSqrt:
      return std::copysign(inner * inner, inner);
    case ValueScale::kLog:
      return std::pow(10.0, inner);
  }
  return inner;
}

Range finite_extent(std::span<const std::span<const float>> values, ValueScale scale) {
  Range range = extent_of({});
  for (const std::span<const float> panel : values) {
    for (const float value : panel) {
      if (std::isfinite(value) && (scale != ValueScale::kLog || value > 0))
        range = united(range, {value, value});
    }
  }
  return range;
}

// 0 and, from the highest down, 1, 2 and 5 times the powers of ten: a root scale spreads those well.
Ticks sqrt_ticks(const Range& range) {
  Ticks ticks;
  const auto add = [&](double value) {
    if (value < range.low || value > range.high) return;
    ticks.at.push_back(value);
    ticks.labels.push_back(fmt::format("{:.4g}", value));
  };
  add(0);
  double power = std::pow(10.0, std::floor(std::log10(range.high)));
  for (Index decade = 0; decade < 2; ++decade, power /= 10) {
    for (const double digit : {5.0, 2.0, 1.0}) add(digit * power);
  }
  return ticks;
}

// In order of importance: where there is no room for all the later ones are left out.
Ticks bar_ticks(const Shade& shade) {
  if (shade.scale == ValueScale::kLog) return log_ticks(shade.range, 4);
  if (shade.scale == ValueScale::kSqrt && shade.range.low >= 0) return sqrt_ticks(shade.range);
  return nice_ticks(shade.range, 4);
}

}  // namespace

double Shade::place(double value) const {
  if (scale == ValueScale::kLog && value <= range.low) return 0;
  const double low = stretched(range.low, scale), high = stretched(range.high, scale);
  return std::clamp((stretched(value, scale) - low) / (high - low), 0.0, 1.0);
}

Color Shade::operator()(double value) const {
  if (std::isnan(value)) return kBlank;
  return map_color(map, place(value));
}

Shade settle(const ColorScale& scale, std::span<const std::span<const float>> values,
             const std::string& place) {
  Range range = finite_extent(values, scale.scale);
  const bool empty = range.low > range.high;
  if (empty) range = scale.scale == ValueScale::kLog ? Range{0.1, 1} : Range{0, 1};
  if (scale.map == ColorMap::kDiverging && !scale.low && !scale.high) {
    const double reach = std::max(std::abs(range.low), std::abs(range.high));
    range = {-reach, reach};
  } else if (scale.scale != ValueScale::kLog && range.low > 0 && range.low < 0.15 * range.high) {
    range.low = 0;
  }
  range = {scale.low.value_or(range.low), scale.high.value_or(range.high)};
  if (scale.scale == ValueScale::kLog && !(range.low > 0)) {
    fail("{}: the log colour scale starts at {}, expected more than 0", place, range.low);
  }
  if (scale.low && scale.high && !(*scale.low < *scale.high)) {
    fail("{}: the colour scale runs from {} to {}, expected ascending", place, *scale.low, *scale.high);
  }
  // One value only: it takes the lowest colour.
  if (!(range.low < range.high)) range.high = range.low + (range.low == 0 ? 1 : std::abs(range.low));
  return {scale.map, scale.scale, range};
}

double color_bar_width(const Canvas& canvas, const ColorScale& scale, double bar) {
  const double title = canvas.measure(scale.title, kAxisTitle).width;
  return bar + (title > 0 ? title + 5 : 0);
}

void draw_color_bar(Canvas& canvas, const Shade& shade, const ColorScale& scale, Point right_top,
                    double bar) {
  const Box box{right_top.x - bar, right_top.y + 2.75, bar, kBarThickness};
  std::array<Color, kBarSteps> colors;
  for (Index i = 0; i < kBarSteps; ++i) {
    colors[static_cast<std::size_t>(i)] =
        shade(value_at(shade, (static_cast<double>(i) + 0.5) / static_cast<double>(kBarSteps)));
  }
  canvas.cells(box, kBarSteps, colors, in_the_dark(shade.map));
  TextStyle title = kAxisTitle;
  title.align_x = AlignX::kRight;
  title.align_y = AlignY::kMiddle;
  canvas.text({box.x - 5, box.middle_y()}, scale.title, title);

  const Ticks ticks = bar_ticks(shade);
  TextStyle style = kSmallText;
  style.align_x = AlignX::kCentre;
  std::vector<Range> taken;
  for (std::size_t i = 0; i < ticks.at.size(); ++i) {
    const double x = box.x + shade.place(ticks.at[i]) * box.width;
    const double half = canvas.measure(ticks.labels[i], style).width / 2;
    const double middle = std::min(x, box.right() + kMargin - 1 - half);  // not past the figure's edge
    const Range place{middle - half - 2, middle + half + 2};
    if (std::ranges::any_of(taken, [&](const Range& t) { return place.low < t.high && t.low < place.high; }))
      continue;
    taken.push_back(place);
    canvas.line({x, box.bottom()}, {x, box.bottom() + 1.8}, {});
    canvas.text({middle, box.bottom() + 2.2}, ticks.labels[i], style);
  }
}

}  // namespace buoy
