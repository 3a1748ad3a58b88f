// Draws curves: settles colours and ranges, then bands, grid, null lines, intervals and lines, panel by
// panel.
#include "buoy/draw/curves.h"

#include <algorithm>
#include <cmath>

#include "buoy/base/error.h"
#include "buoy/draw/chrome.h"
#include "buoy/draw/draw.h"

namespace buoy {
namespace {

constexpr double kPanelGapX = 12, kPanelGapY = 10;
constexpr double kLabelLeader = 9;  // between the end of a line and its name
constexpr double kNullLine = 0.9;

void check_series(const Series& s, const std::string& place) {
  const auto check_size = [&](const std::vector<double>& values, const char* what) {
    if (values.size() == s.x.size()) return;
    fail("{}, series \"{}\": {} values of {}, expected {}", place, s.name, values.size(), what, s.x.size());
  };
  check_size(s.y, "y");
  if (!s.low.empty() || !s.high.empty()) {
    check_size(s.low, "low");
    check_size(s.high, "high");
  }
  if (!s.null.empty()) check_size(s.null, "null");
}

// The names in order of appearance; a name's place decides its colour.
std::vector<std::string> names_of(const Curves& curves) {
  std::vector<std::string> names;
  for (const CurvePanel& panel : curves.panels) {
    for (const Series& s : panel.series) {
      if (!s.name.empty() && std::ranges::find(names, s.name) == names.end()) names.push_back(s.name);
    }
  }
  if (curves.palette == Palette::kCategorical && std::ssize(names) > kSeriesColorCount) {
    fail("curves \"{}\": {} names, expected at most {}: use ordered colours or more panels", curves.title,
         names.size(), kSeriesColorCount);
  }
  return names;
}

const Series& first_of(const Curves& curves, const std::string& name) {
  for (const CurvePanel& panel : curves.panels) {
    const auto found = std::ranges::find(panel.series, name, &Series::name);
    if (found != panel.series.end()) return *found;
  }
  check(false, "a name comes from a series");
  return curves.panels[0].series[0];
}

struct Colors {
  const Curves& curves;
  std::vector<std::string> names;
  Color operator()(const std::string& name) const {
    if (name.empty()) return kSoftInk;
    const Series& first = first_of(curves, name);
    if (first.color != kColorByOrder) return with_alpha(series_color(first.color), first.strength);
    const Index i = std::ranges::find(names, name) - names.begin();
    if (curves.palette == Palette::kCategorical) return series_color(i);
    // The lightest fifth of the map is too pale for lines on white.
    const double steps = std::max(1.0, static_cast<double>(names.size()) - 1);
    return map_color(ColorMap::kViridis, 0.82 * static_cast<double>(i) / steps);
  }
};

bool is_nameless(const CurvePanel& panel) {
  return !panel.series.empty() &&
         std::ranges::all_of(panel.series, [](const Series& s) { return s.name.empty(); });
}

bool has_null(const CurvePanel& panel) {
  return std::ranges::any_of(panel.series, [](const Series& s) { return !s.null.empty(); });
}

Range x_extent(const CurvePanel& panel) {
  Range range = extent_of({});
  for (const Series& s : panel.series) range = united(range, extent_of(s.x));
  return range;
}

Range y_extent(const CurvePanel& panel) {
  Range range = extent_of({});
  for (const Series& s : panel.series) {
    for (const auto* values : {&s.y, &s.low, &s.high, &s.null}) range = united(range, extent_of(*values));
  }
  return range;
}

// The data's range, a little wider, but never past 0: shares and masses start there.
Range roomy(Range data) {
  Range range = padded(data, 0.06);
  if (data.low >= 0 && data.low <= data.high)
    range.low = data.low < 0.35 * data.high ? 0 : std::max(0.0, range.low);
  return range;
}

Range y_range_of(const Curves& curves, const CurvePanel& panel) {
  if (panel.y_range) return *panel.y_range;
  if (curves.y_range) return *curves.y_range;
  Range bands = extent_of({});
  for (const AxisBand& band : panel.bands) bands = united(bands, {band.low, band.high});
  if (bands.low < bands.high) return united(bands, y_extent(panel));
  Range all = extent_of({});
  for (const CurvePanel& other : curves.panels) {
    if (!other.y_range) all = united(all, y_extent(other));
  }
  return roomy(all);
}

void check_range(const std::optional<Range>& range, const char* axis, const std::string& place) {
  if (range && !(range->low < range->high && std::isfinite(range->high - range->low))) {
    fail("{}: {} range from {} to {}, expected ascending", place, axis, range->low, range->high);
  }
}

void check_curves(const Curves& curves) {
  if (curves.panels.empty()) fail("curves \"{}\": no panels, expected at least one", curves.title);
  for (std::size_t i = 0; i < curves.panels.size(); ++i) {
    const std::string place = fmt::format("curves \"{}\", panel {}", curves.title, i + 1);
    check_range(curves.x_range, "x", place);
    check_range(curves.y_range, "y", place);
    check_range(curves.panels[i].y_range, "y", place);
    if (curves.panels[i].x_ticks.empty() != curves.panels[0].x_ticks.empty())
      fail("{}: ticks of its own unlike panel 1, expected for all panels or for none", place);
    for (const Series& s : curves.panels[i].series) check_series(s, place);
  }
}

bool whole_numbers(const Curves& curves) {
  for (const CurvePanel& panel : curves.panels) {
    for (const Series& s : panel.series) {
      if (!std::ranges::all_of(s.x, [](double x) { return x == std::floor(x); })) return false;
    }
  }
  return true;
}

// Calls `run` with each longest stretch of points whose values are all finite.
template <typename Run>
void for_each_stretch(const Frame& frame, const Series& s, const std::vector<double>& values, Run run) {
  std::vector<Point> points;
  for (std::size_t i = 0; i <= values.size(); ++i) {
    if (i < values.size() && std::isfinite(values[i]) && std::isfinite(s.x[i])) {
      points.push_back({frame.at_x(s.x[i]), frame.at_y(values[i])});
    } else if (!points.empty()) {
      run(points);
      points.clear();
    }
  }
}

void draw_interval(Canvas& canvas, const Frame& frame, const Series& s, Color color) {
  std::vector<Point> upper, lower;
  for (std::size_t i = 0; i <= s.low.size(); ++i) {
    if (i < s.low.size() && std::isfinite(s.low[i]) && std::isfinite(s.high[i]) && std::isfinite(s.y[i])) {
      upper.push_back({frame.at_x(s.x[i]), frame.at_y(s.high[i])});
      lower.push_back({frame.at_x(s.x[i]), frame.at_y(s.low[i])});
      continue;
    }
    if (upper.size() == 1)
      canvas.line(upper[0], lower[0], {.color = with_alpha(color, 0.5 * color.a), .width = kThinLine});
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    if (upper.size() > 2) canvas.fill(upper, with_alpha(color, 0.16 * color.a));
    upper.clear();
    lower.clear();
  }
}

void draw_series(Canvas& canvas, const Frame& frame, const Series& s, Color color) {
  for_each_stretch(frame, s, s.y, [&](const std::vector<Point>& points) {
    canvas.polyline(points, {.color = color, .width = s.name.empty() ? kThinLine : kCurveLine});
    const bool dots = s.markers == Markers::kDots || points.size() == 1;
    if (!dots) return;
    for (const Point& p : points) {
      canvas.dot(p, 2.1, kWhite);
      canvas.dot(p, 1.6, color);
    }
  });
}

void draw_null(Canvas& canvas, const Frame& frame, const Series& s, Color color) {
  const LineStyle style{.color = with_alpha(color, 0.75 * color.a), .width = kNullLine, .dashes = {2.6, 1.8}};
  for_each_stretch(frame, s, s.null, [&](const std::vector<Point>& points) {
    if (points.size() > 1) return canvas.polyline(points, style);
    canvas.line({points[0].x - 3, points[0].y}, {points[0].x + 3, points[0].y}, style);
  });
}

// Stretches of the y axis in alternating tints, named in the right margin.
void draw_axis_bands(Canvas& canvas, const Frame& frame, const std::vector<AxisBand>& bands,
                     AxisLabels names) {
  TextStyle style = kSmallText;
  style.align_y = AlignY::kMiddle;
  std::vector<Wish> wishes;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const double top = std::max(frame.plot.y, frame.at_y(bands[i].high));
    const double bottom = std::min(frame.plot.bottom(), frame.at_y(bands[i].low));
    const Color tint = bands[i].marked ? with_alpha(kMark, 0.15) : i % 2 == 0 ? kBandTint : kWhite;
    if (top < bottom) canvas.fill(Box{frame.plot.x, top, frame.plot.width, bottom - top}, tint);
    wishes.push_back({.at = (top + bottom) / 2, .size = kSmallSize * 1.15, .weight = bottom - top});
  }
  if (names == AxisLabels::kHidden) return;
  const auto placed = declutter(wishes, frame.plot.y - 2, frame.plot.bottom() + 2);
  for (std::size_t i = 0; i < bands.size(); ++i) {
    if (!placed[i]) continue;
    const double x = frame.plot.right();
    canvas.line({x + 1, wishes[i].at}, {x + 5, *placed[i]}, {.color = kAxisInk, .width = kHairline});
    style.color = bands[i].marked ? kMark : kSoftInk;
    canvas.text({x + 6.5, *placed[i]}, bands[i].name, style);
  }
}

// The last point of a series, where its name is written.
std::optional<Point> end_of(const Frame& frame, const Series& s) {
  std::optional<Point> end;
  for_each_stretch(frame, s, s.y, [&](const std::vector<Point>& points) {
    if (!end || points.back().x >= end->x) end = points.back();
  });
  return end;
}

void draw_names(Canvas& canvas, const Frame& frame, const CurvePanel& panel, const Colors& colors) {
  std::vector<Wish> wishes;
  std::vector<const Series*> named;
  for (const Series& s : panel.series) {
    const std::optional<Point> end = end_of(frame, s);
    if (!end || s.name.empty()) continue;
    named.push_back(&s);
    wishes.push_back({.at = std::clamp(end->y, frame.plot.y, frame.plot.bottom()), .size = kTextSize * 1.2});
  }
  const auto placed = declutter(wishes, frame.plot.y - 4, frame.plot.bottom() + 4);
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (!placed[i]) continue;
    const Color color = colors(named[i]->name);
    const double x = frame.plot.right();
    canvas.line({x + 1.5, wishes[i].at}, {x + kLabelLeader - 1.5, *placed[i]},
                {.color = with_alpha(color, 0.6 * color.a), .width = kThinLine});
    canvas.text({x + kLabelLeader, *placed[i]}, named[i]->name,
                {.size = kTextSize, .color = color, .align_y = AlignY::kMiddle});
  }
}

bool has_own_x(const Curves& curves) {
  return !curves.panels[0].x_ticks.empty();
}

// Where a panel's axis is its own, its range is that of its data and ticks.
Range x_range_of(const CurvePanel& panel) {
  Range range = x_extent(panel);
  for (const AxisTick& tick : panel.x_ticks) range = united(range, {tick.at, tick.at});
  return padded(range, 0.03);
}

// Ticks everywhere, labels where there is room.
Ticks own_ticks(const Canvas& canvas, const Frame& frame, const CurvePanel& panel) {
  Ticks ticks;
  constexpr double kOverhang = kPanelGapX / 2;  // what a label may stick out beside the plot
  double free_from = frame.plot.x - kOverhang;
  for (const AxisTick& tick : panel.x_ticks) {
    const double half = canvas.measure(tick.label, kSmallText).width / 2, at = frame.at_x(tick.at);
    const bool fits = at - half >= free_from && at + half <= frame.plot.right() + kOverhang;
    if (fits) free_from = at + half + 3;
    ticks.at.push_back(tick.at);
    ticks.labels.push_back(fits ? tick.label : "");
  }
  return ticks;
}

struct Layout {
  Index across = 1, down = 1;
  LegendPlace legend = LegendPlace::kAbove;
  double gutter = 0, margin = 0;  // left of the first and right of the last panel
  double panel_title = 0;
  double foot = 0;          // below each panel, where each has its own horizontal axis
  bool own_ranges = false;  // each panel has its own y axis
  Range x;
  Size plot;
};

double beside_width(const Canvas& canvas, const std::vector<std::string>& names) {
  return kLabelLeader + widest(canvas, names, kAxisTitle);
}

// A name at the right edge says little about a line that ends long before it.
bool end_together(const CurvePanel& panel) {
  const Range all = x_extent(panel);
  return std::ranges::all_of(panel.series, [&](const Series& s) {
    const Range own = extent_of(s.x);
    return own.low > own.high || own.high >= std::lerp(all.low, all.high, 0.8);
  });
}

LegendPlace choose_legend(const Canvas& canvas, const Curves& curves, const std::vector<std::string>& names) {
  const bool bands = std::ranges::any_of(curves.panels, [](const CurvePanel& p) { return !p.bands.empty(); });
  if (curves.legend != LegendPlace::kAuto) return curves.legend;
  if (names.size() == 1 && !has_null(curves.panels[0])) return LegendPlace::kNone;
  const bool room = beside_width(canvas, names) < curves.width * 0.28;
  return curves.panels.size() == 1 && !bands && room && end_together(curves.panels[0]) ? LegendPlace::kBeside
                                                                                       : LegendPlace::kAbove;
}

Index y_tick_count(double height) {
  return std::clamp<Index>(static_cast<Index>(height / 17), 2, 7);
}

Layout plan(const Canvas& canvas, const Curves& curves, const std::vector<std::string>& names) {
  Layout out;
  out.across = std::clamp<Index>(curves.panels_across, 1, std::ssize(curves.panels));
  out.down = (std::ssize(curves.panels) + out.across - 1) / out.across;
  out.legend = choose_legend(canvas, curves, names);
  Range x = extent_of({});
  double labels = 0;
  std::vector<std::string> band_names;
  for (const CurvePanel& panel : curves.panels) {
    x = united(x, x_extent(panel));
    labels = std::max(labels, widest(canvas, nice_ticks(y_range_of(curves, panel), 7).labels, kSmallText));
    if (!panel.title.empty()) out.panel_title = kPanelTitle;
    if (panel.y_range || !panel.bands.empty()) out.own_ranges = true;
    for (const AxisBand& band : panel.bands) band_names.push_back(band.name);
  }
  out.x = curves.x_range.value_or(padded(x, 0.02));
  if (has_own_x(curves)) out.foot = kTickLabelHeight + kAxisTitleHeight;
  out.gutter = labels + 4;
  out.margin = out.legend == LegendPlace::kBeside ? beside_width(canvas, names) : 5;
  if (!band_names.empty()) out.margin = std::max(out.margin, 7 + widest(canvas, band_names, kSmallText));
  const double title = curves.y_title.empty() ? 0 : kAxisTitleHeight;
  const double inner = out.own_ranges ? out.gutter : 0;
  const double room = curves.width - 2 * kMargin - title - out.gutter - out.margin -
                      static_cast<double>(out.across - 1) * (kPanelGapX + inner);
  out.plot.width = room / static_cast<double>(out.across);
  if (out.plot.width < 20) {
    fail("curves \"{}\": {} panels across do not fit into {} points", curves.title, out.across, curves.width);
  }
  const double tall = out.down > 1 ? 0.5 : 0.62;
  out.plot.height =
      curves.panel_height > 0 ? curves.panel_height : std::clamp(out.plot.width * tall, 54.0, 170.0);
  return out;
}

std::vector<KeyEntry> key_of(const Curves& curves, const Colors& colors, LegendPlace place) {
  std::vector<KeyEntry> key;
  if (place == LegendPlace::kNone) return key;
  if (place == LegendPlace::kAbove) {
    for (const std::string& name : colors.names) key.push_back({name, KeyShape::kLine, colors(name)});
  }
  if (std::ranges::any_of(curves.panels, has_null))
    key.push_back({curves.null_name, KeyShape::kDashes, kSoftInk});
  return key;
}

}  // namespace

Size draw(Canvas& canvas, const Curves& curves) {
  check_curves(curves);
  const Colors colors{curves, names_of(curves)};
  const Layout out = plan(canvas, curves, colors.names);
  const double right = curves.width - kMargin;
  const double left = kMargin + (curves.y_title.empty() ? 0 : kAxisTitleHeight) + out.gutter;
  double y = kMargin + 2;
  y += draw_heading(canvas, curves.title, {kMargin, y}, right);
  y += draw_key(canvas, key_of(curves, colors, out.legend), {left, y}, right);
  const double first = y + out.panel_title;
  const Ticks x_ticks =
      fitting_ticks(canvas, out.x, out.plot.width, whole_numbers(curves) ? TickStep::kWhole : TickStep::kAny);
  for (Index i = 0; i < std::ssize(curves.panels); ++i) {
    const CurvePanel& panel = curves.panels[static_cast<std::size_t>(i)];
    const Index column = i % out.across, row = i / out.across;
    const double step_x = out.plot.width + kPanelGapX + (out.own_ranges ? out.gutter : 0);
    const double step_y = out.plot.height + out.panel_title + out.foot + kPanelGapY;
    const Frame frame{{left + static_cast<double>(column) * step_x, first + static_cast<double>(row) * step_y,
                       out.plot.width, out.plot.height},
                      has_own_x(curves) ? x_range_of(panel) : out.x,
                      y_range_of(curves, panel)};
    const bool rightmost = column == out.across - 1 || i + 1 == std::ssize(curves.panels);
    const bool lowest = i + out.across >= std::ssize(curves.panels);
    canvas.text({frame.plot.x, frame.plot.y - kPanelTitle}, panel.title,
                {.size = kTextSize, .weight = Weight::kBold, .max_width = out.plot.width});
    draw_axis_bands(canvas, frame, panel.bands, rightmost ? AxisLabels::kShown : AxisLabels::kHidden);
    draw_y_axis(canvas, frame,
                is_nameless(panel) ? Ticks{} : nice_ticks(frame.y, y_tick_count(out.plot.height)),
                column == 0 || out.own_ranges ? AxisLabels::kShown : AxisLabels::kHidden);
    if (has_own_x(curves)) {
      draw_x_axis(canvas, frame, own_ticks(canvas, frame, panel), AxisLabels::kShown);
      draw_x_title(canvas, panel.x_title, frame.plot);
    } else {
      draw_x_axis(canvas, frame, x_ticks, lowest ? AxisLabels::kShown : AxisLabels::kHidden);
    }
    {
      const Box& p = frame.plot;
      const Canvas::Clip clip(canvas, {p.x - 2, p.y - 2, p.width + 4, p.height + 4});
      for (const Series& s : panel.series) draw_null(canvas, frame, s, colors(s.name));
      for (const Series& s : panel.series) draw_interval(canvas, frame, s, colors(s.name));
      for (const Series& s : panel.series) draw_series(canvas, frame, s, colors(s.name));
    }
    if (out.legend == LegendPlace::kBeside && rightmost) draw_names(canvas, frame, panel, colors);
  }
  const double last =
      first + static_cast<double>(out.down) * (out.plot.height + out.panel_title + out.foot + kPanelGapY) -
      out.panel_title - out.foot - kPanelGapY;
  if (!has_own_x(curves))
    draw_x_title(canvas, curves.x_title, {left, first, right - out.margin - left, last - first});
  const bool titled = has_own_x(curves) || !curves.x_title.empty();
  double bottom = last + kTickLabelHeight + (titled ? kAxisTitleHeight : 0);
  draw_side_title(canvas, curves.y_title, {first, last}, bottom);
  bottom += draw_note(canvas, curves.note, {kMargin, bottom}, right);
  return {curves.width, bottom + kMargin};
}

}  // namespace buoy
