// Draws a forest plot: names on the left, intervals in the middle, numbers on the right.
#include "buoy/draw/forest.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "buoy/base/error.h"
#include "buoy/draw/chrome.h"
#include "buoy/draw/draw.h"

namespace buoy {
namespace {

constexpr double kNameShare = 0.36;  // of the width
constexpr double kTextShare = 0.24;
constexpr double kGap = 9;       // between the columns
constexpr double kRowGap = 5;    // below a row
constexpr double kGroupGap = 4;  // above a heading
constexpr double kMarkSize = 2.6;
constexpr double kNullSize = 2.1;
constexpr double kNullDrop = 6.5;  // from the line of a row's mark to that of its nulls

const TextStyle kHeading = {.size = kTextSize, .weight = Weight::kBold};

Color color_of(ForestMark mark) {
  switch (mark) {
    case ForestMark::kDot:
      return kInk;
    case ForestMark::kRing:
      return kSoftInk;
    case ForestMark::kCross:
      return kMark;
  }
  return kInk;
}

Color color_of(const ForestRow& row) {
  return row.color == kColorByOrder ? color_of(row.mark) : series_color(row.color);
}

KeyShape shape_of(ForestMark mark) {
  return mark == ForestMark::kDot    ? KeyShape::kDot
         : mark == ForestMark::kRing ? KeyShape::kRing
                                     : KeyShape::kCross;
}

KeyShape shape_of(ForestNullMark mark) {
  constexpr std::array<KeyShape, 4> kShapes = {KeyShape::kTick, KeyShape::kSquare, KeyShape::kDiamond,
                                               KeyShape::kTriangle};
  return kShapes[static_cast<std::size_t>(mark)];
}

void check_forest(const Forest& forest) {
  if (forest.rows.empty()) fail("forest \"{}\": no rows, expected at least one", forest.title);
  if (forest.x_range && !(forest.x_range->low < forest.x_range->high)) {
    fail("forest \"{}\": x range from {} to {}, expected ascending", forest.title, forest.x_range->low,
         forest.x_range->high);
  }
  for (const ForestRow& row : forest.rows) {
    if (!(row.low > row.value) && !(row.value > row.high)) continue;
    fail("forest \"{}\", row \"{}\": {} outside its interval from {} to {}", forest.title, row.name,
         row.value, row.low, row.high);
  }
}

Range range_of(const Forest& forest) {
  if (forest.x_range) return *forest.x_range;
  Range data{forest.origin, forest.threshold.value_or(forest.origin)};
  if (data.low > data.high) std::swap(data.low, data.high);
  for (const ForestRow& row : forest.rows) {
    const double values[] = {row.value, row.low, row.high};
    data = united(data, extent_of(values));
    for (const ForestNull& null : row.nulls) data = united(data, {null.value, null.value});
  }
  return padded(data, 0.05);
}

TextStyle name_style(double width) {
  return {.size = kTextSize, .max_width = width, .max_lines = 3};
}

TextStyle small_style(double width, Index lines) {
  TextStyle style = kSmallText;
  style.max_width = width;
  style.max_lines = lines;
  return style;
}

// Where a row stands: its top, the line of its mark, and what is written for it.
struct Place {
  double heading = -1;  // top of the group's heading; -1: none
  double top = 0, middle = 0, bottom = 0;
  bool named = false;
};

struct Columns {
  double name_width = 0, text_x = 0, text_width = 0;
};

std::vector<Place> places_of(const Canvas& canvas, const Forest& forest, const Columns& columns, double y) {
  std::vector<Place> places;
  const ForestRow* before = nullptr;
  for (const ForestRow& row : forest.rows) {
    Place place;
    const bool new_group = before == nullptr || before->group != row.group;
    if (new_group && !row.group.empty()) {
      place.heading = y + (before == nullptr ? 0 : kGroupGap);
      y = place.heading + kTextSize * kLineHeight + 2;
    }
    place.named = new_group || before->name != row.name;
    place.top = y;
    const double name = place.named ? canvas.measure(row.name, name_style(columns.name_width)).height : 0;
    const double detail =
        row.detail.empty() ? 0
                           : canvas.measure(row.detail, small_style(columns.name_width - kSwatch, 2)).height;
    const double text = canvas.measure(row.text, small_style(columns.text_width, 3)).height;
    place.bottom =
        y + std::max({name + detail, text, 2 * (row.nulls.empty() ? kMarkSize + 1 : kNullDrop + kNullSize)});
    place.middle = (place.top + place.bottom) / 2;
    y = place.bottom + kRowGap;
    places.push_back(place);
    before = &row;
  }
  return places;
}

void draw_mark(Canvas& canvas, Point at, ForestMark mark, Color color) {
  if (mark == ForestMark::kCross) {
    const double r = kMarkSize * 0.85;
    for (const double side : {-1.0, 1.0}) {
      canvas.line({at.x - r, at.y - side * r}, {at.x + r, at.y + side * r}, {.color = color, .width = 1.5});
    }
    return;
  }
  canvas.dot(at, kMarkSize, color);
  if (mark == ForestMark::kRing) canvas.dot(at, kMarkSize - 1.1, kWhite);
}

void draw_arrow(Canvas& canvas, Point tip, double direction, Color color) {
  const Point head[] = {tip, {tip.x - direction * 4, tip.y - 2.2}, {tip.x - direction * 4, tip.y + 2.2}};
  canvas.fill(head, color);
}

void draw_estimate(Canvas& canvas, const Frame& frame, const ForestRow& row, double y) {
  if (!std::isfinite(row.value)) return;
  const Color color = color_of(row);
  const double left = frame.plot.x, right = frame.plot.right();
  if (std::isfinite(row.low) && std::isfinite(row.high)) {
    const double from = frame.at_x(row.low), to = frame.at_x(row.high);
    canvas.line({std::clamp(from, left, right), y}, {std::clamp(to, left, right), y},
                {.color = color, .width = 1.2});
    if (from < left) draw_arrow(canvas, {left, y}, -1, color);
    if (to > right) draw_arrow(canvas, {right, y}, 1, color);
    for (const double end : {from, to}) {
      if (end >= left && end <= right)
        canvas.line({end, y - 2}, {end, y + 2}, {.color = color, .width = 0.8});
    }
  }
  // A mark outside stands beside the arrow.
  draw_mark(canvas, {std::clamp(frame.at_x(row.value), left + 8, right - 8), y}, row.mark, color);
}

void draw_nulls(Canvas& canvas, const Frame& frame, const ForestRow& row, double y) {
  for (const ForestNull& null : row.nulls) {
    const double x =
        std::clamp(frame.at_x(null.value), frame.plot.x + kNullSize, frame.plot.right() - kNullSize);
    draw_outline(canvas, {x, y + kNullDrop}, shape_of(null.mark), kNullSize, kSoftInk);
  }
}

void draw_grounds(Canvas& canvas, const Frame& frame, const Forest& forest) {
  const Box& p = frame.plot;
  const auto inside = [&](double x) { return x >= p.x - 0.01 && x <= p.right() + 0.01; };
  if (forest.threshold) {
    const double x = std::clamp(frame.at_x(*forest.threshold), p.x, p.right());
    canvas.fill(Box{x, p.y, p.right() - x, p.height}, kBandTint);
    if (inside(frame.at_x(*forest.threshold)))
      canvas.line({x, p.y}, {x, p.bottom()}, {.color = kAxisInk, .width = 0.9, .dashes = {2.6, 1.8}});
  }
  if (inside(frame.at_x(forest.origin)))
    canvas.line({frame.at_x(forest.origin), p.y}, {frame.at_x(forest.origin), p.bottom()}, {.width = 0.8});
}

// Names of the two lines, above the plot.
void draw_line_names(Canvas& canvas, const Frame& frame, const Forest& forest) {
  TextStyle style = kSmallText;
  style.align_x = AlignX::kCentre;
  style.align_y = AlignY::kBottom;
  std::vector<Wish> wishes;
  std::vector<std::string> names;
  const auto add = [&](double value, const std::string& name) {
    if (name.empty() || value < frame.x.low || value > frame.x.high) return;
    wishes.push_back({.at = frame.at_x(value), .size = canvas.measure(name, style).width + 4});
    names.push_back(name);
  };
  add(forest.origin, forest.origin_name);
  if (forest.threshold) add(*forest.threshold, forest.threshold_name);
  const auto placed = declutter(wishes, frame.plot.x - 20, frame.plot.right() + 20);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (placed[i]) canvas.text({*placed[i], frame.plot.y - 1}, names[i], style);
  }
}

std::vector<KeyEntry> key_of(const Forest& forest) {
  std::vector<KeyEntry> key;
  const bool own =
      std::ranges::any_of(forest.rows, [](const ForestRow& r) { return r.color != kColorByOrder; });
  for (const ForestKey& k : forest.key)
    key.push_back({k.name, shape_of(k.mark), own ? kSoftInk : color_of(k.mark)});
  for (const ForestNullKey& k : forest.null_key) key.push_back({k.name, shape_of(k.mark), kSoftInk});
  return key;
}

void draw_row(Canvas& canvas, const Forest& forest, std::size_t i, const Place& place,
              const Columns& columns) {
  const ForestRow& row = forest.rows[i];
  double y = place.top;
  if (place.heading >= 0) canvas.text({kMargin, place.heading}, row.group, kHeading);
  if (place.named) {
    canvas.text({kMargin, y}, row.name, name_style(columns.name_width));
    y += canvas.measure(row.name, name_style(columns.name_width)).height;
  }
  if (!row.detail.empty()) {
    const bool colored = row.color != kColorByOrder;
    if (colored) draw_swatch(canvas, {kMargin, y + kSmallSize * kLineHeight / 2}, row.color);
    const double left = colored ? kSwatch : 0;
    canvas.text({kMargin + left, y}, row.detail, small_style(columns.name_width - left, 2));
  }
  TextStyle text = small_style(columns.text_width, 3);
  text.align_y = AlignY::kMiddle;
  canvas.text({columns.text_x, place.middle}, row.text, text);
}

}  // namespace

Size draw(Canvas& canvas, const Forest& forest) {
  check_forest(forest);
  const double right = forest.width - kMargin;
  double y = kMargin + 2;
  y += draw_heading(canvas, forest.title, {kMargin, y}, right);
  y += draw_key(canvas, key_of(forest), {kMargin, y}, right);
  Columns columns;
  columns.name_width = forest.width * kNameShare;
  columns.text_width = forest.width * kTextShare;
  columns.text_x = right - columns.text_width;
  const double plot_x = kMargin + columns.name_width + kGap;
  const double top = y + kSmallSize * kLineHeight + 1;
  const std::vector<Place> places = places_of(canvas, forest, columns, top + 3);
  const Frame frame{{plot_x, top, columns.text_x - kGap - plot_x, places.back().bottom + 3 - top},
                    range_of(forest),
                    {0, 1}};
  draw_grounds(canvas, frame, forest);
  draw_line_names(canvas, frame, forest);
  TextStyle text_title = kSmallText;
  text_title.align_y = AlignY::kBottom;
  text_title.max_width = columns.text_width;
  canvas.text({columns.text_x, top - 1}, forest.text_title, text_title);
  for (std::size_t i = 0; i < forest.rows.size(); ++i) {
    draw_row(canvas, forest, i, places[i], columns);
    draw_nulls(canvas, frame, forest.rows[i], places[i].middle);
    draw_estimate(canvas, frame, forest.rows[i], places[i].middle);
  }
  draw_x_axis(canvas, frame, fitting_ticks(canvas, frame.x, frame.plot.width, TickStep::kAny),
              AxisLabels::kShown);
  draw_x_title(canvas, forest.x_title, frame.plot);
  double bottom = frame.plot.bottom() + kTickLabelHeight + (forest.x_title.empty() ? 0 : kAxisTitleHeight);
  bottom += draw_note(canvas, forest.note, {kMargin, bottom}, right);
  return {forest.width, bottom + kMargin};
}

}  // namespace buoy
