#include "buoy/draw/chrome.h"

#include <algorithm>

namespace buoy {
namespace {

constexpr double kKeyShapeWidth = 13;
constexpr double kKeyGap = 3;        // between a shape and its name
constexpr double kKeyDistance = 11;  // between entries
constexpr double kKeyRow = 10.5;

double entry_width(const Canvas& canvas, const KeyEntry& entry) {
  return kKeyShapeWidth + kKeyGap + canvas.measure(entry.name, kAxisTitle).width;
}

void draw_shape(Canvas& canvas, const KeyEntry& entry, double x, double middle) {
  const Box box{x + 2, middle - 3, kKeyShapeWidth - 4, 6};
  const Point from{x, middle}, to{x + kKeyShapeWidth, middle}, centre{box.middle_x(), middle};
  switch (entry.shape) {
    case KeyShape::kLine:
      canvas.line(from, to, {.color = entry.color, .width = kCurveLine});
      break;
    case KeyShape::kDashes:
      canvas.line(from, to, {.color = entry.color, .width = 0.9, .dashes = {2.6, 1.8}});
      break;
    case KeyShape::kBar:
      canvas.fill(box, entry.color);
      break;
    case KeyShape::kHatch:
      canvas.hatch({&box, 1}, entry.color);
      canvas.stroke(box, {.color = entry.color, .width = kHairline});
      break;
    case KeyShape::kPale:
      canvas.fill(box, with_alpha(entry.color, kPaleStrength));
      canvas.stroke(box, {.color = entry.color, .width = kThinLine});
      break;
    case KeyShape::kOutline:
      canvas.stroke(box, {.color = entry.color, .width = 1.1});
      break;
    case KeyShape::kDot:
    case KeyShape::kRing:
      canvas.dot(centre, 2.6, entry.color);
      if (entry.shape == KeyShape::kRing) canvas.dot(centre, 1.5, kWhite);
      break;
    case KeyShape::kCross:
      for (const double side : {-2.2, 2.2}) {
        canvas.line({centre.x - 2.2, middle - side}, {centre.x + 2.2, middle + side},
                    {.color = entry.color, .width = 1.5});
      }
      break;
    case KeyShape::kTick:
    case KeyShape::kSquare:
    case KeyShape::kDiamond:
    case KeyShape::kTriangle:
      draw_outline(canvas, centre, entry.shape, 2.4, entry.color);
      break;
  }
}

}  // namespace

void draw_outline(Canvas& canvas, Point at, KeyShape shape, double radius, Color color) {
  const double r = radius, left = at.x - r, right = at.x + r, top = at.y - r, bottom = at.y + r;
  std::vector<Point> points;
  if (shape == KeyShape::kTick) points = {{at.x, top}, {at.x, bottom}};
  if (shape == KeyShape::kSquare)
    points = {{left, top}, {right, top}, {right, bottom}, {left, bottom}, {left, top}};
  if (shape == KeyShape::kDiamond)
    points = {{left, at.y}, {at.x, top}, {right, at.y}, {at.x, bottom}, {left, at.y}};
  if (shape == KeyShape::kTriangle) points = {{left, bottom}, {at.x, top}, {right, bottom}, {left, bottom}};
  if (!points.empty()) canvas.polyline(points, {.color = color, .width = 1});
}

double draw_heading(Canvas& canvas, std::string_view title, Point at, double right) {
  if (title.empty()) return 0;
  const TextStyle style{
      .size = kTitleSize, .weight = Weight::kBold, .max_width = right - at.x, .max_lines = 2};
  canvas.text(at, title, style);
  return canvas.measure(title, style).height + 4;
}

double key_width(const Canvas& canvas, const std::vector<KeyEntry>& entries) {
  double width = 0;
  for (const KeyEntry& entry : entries) width += (width > 0 ? kKeyDistance : 0) + entry_width(canvas, entry);
  return width;
}

double draw_key(Canvas& canvas, const std::vector<KeyEntry>& entries, Point at, double right) {
  if (entries.empty()) return 0;
  Point cursor = at;
  for (const KeyEntry& entry : entries) {
    const double width = entry_width(canvas, entry);
    if (cursor.x > at.x && cursor.x + width > right) cursor = {at.x, cursor.y + kKeyRow};
    const double middle = cursor.y + kKeyRow / 2;
    draw_shape(canvas, entry, cursor.x, middle);
    TextStyle style = kAxisTitle;
    style.align_y = AlignY::kMiddle;
    style.max_width = std::max(10.0, right - cursor.x - kKeyShapeWidth - kKeyGap + 0.1);
    canvas.text({cursor.x + kKeyShapeWidth + kKeyGap, middle}, entry.name, style);
    cursor.x += width + kKeyDistance;
  }
  return cursor.y + kKeyRow - at.y + 4;
}

double draw_note(Canvas& canvas, std::string_view note, Point at, double right) {
  if (note.empty()) return 0;
  TextStyle style = kSmallText;
  style.max_width = right - at.x;
  style.max_lines = 4;
  canvas.text({at.x, at.y + 4}, note, style);
  return canvas.measure(note, style).height + 4;
}

void draw_swatch(Canvas& canvas, Point at, Index color) {
  constexpr double kSide = 5;
  canvas.fill(Box{at.x, at.y - kSide / 2, kSide, kSide}, series_color(color));
}

void draw_side_title(Canvas& canvas, std::string_view title, Range plots, double bottom) {
  TextStyle style = kAxisTitle;
  style.align_y = AlignY::kMiddle;
  style.turn = Turn::kUp;
  style.max_width = bottom - kMargin;
  const double half = canvas.measure(title, style).height / 2;
  const double middle =
      std::clamp((plots.low + plots.high) / 2, kMargin + half, std::max(kMargin + half, bottom - half));
  canvas.text({kMargin, middle}, title, style);
}

void draw_y_axis(Canvas& canvas, const Frame& frame, const Ticks& ticks, AxisLabels labels) {
  TextStyle style = kSmallText;
  style.align_x = AlignX::kRight;
  style.align_y = AlignY::kMiddle;
  for (std::size_t i = 0; i < ticks.at.size(); ++i) {
    const double y = frame.at_y(ticks.at[i]);
    canvas.line({frame.plot.x, y}, {frame.plot.right(), y}, {.color = kGridInk, .width = kThinLine});
    if (labels == AxisLabels::kShown) canvas.text({frame.plot.x - 3, y}, ticks.labels[i], style);
  }
}

void draw_x_axis(Canvas& canvas, const Frame& frame, const Ticks& ticks, AxisLabels labels) {
  const double base = frame.plot.bottom();
  canvas.line({frame.plot.x, base}, {frame.plot.right(), base}, {});
  TextStyle style = kSmallText;
  style.align_x = AlignX::kCentre;
  for (std::size_t i = 0; i < ticks.at.size(); ++i) {
    const double x = frame.at_x(ticks.at[i]);
    canvas.line({x, base}, {x, base + kTickLength}, {});
    if (labels == AxisLabels::kShown) canvas.text({x, base + kTickLength + 1}, ticks.labels[i], style);
  }
}

void draw_x_title(Canvas& canvas, std::string_view title, const Box& plot) {
  TextStyle style = kAxisTitle;
  style.align_x = AlignX::kCentre;
  style.max_width = plot.width + 16;
  canvas.text({plot.middle_x(), plot.bottom() + kTickLabelHeight + 1.5}, title, style);
}

Ticks fitting_ticks(const Canvas& canvas, Range range, double width, TickStep step) {
  for (Index most = std::max<Index>(2, static_cast<Index>(width / 20)); most > 2; --most) {
    Ticks ticks = nice_ticks(range, most, step);
    if (ticks.at.size() < 2) return ticks;
    const double distance = (ticks.at[1] - ticks.at[0]) / (range.high - range.low) * width;
    if (widest(canvas, ticks.labels, kSmallText) + 8 <= distance) return ticks;
  }
  return nice_ticks(range, 2, step);
}

double widest(const Canvas& canvas, const std::vector<std::string>& labels, const TextStyle& style) {
  double width = 0;
  for (const std::string& label : labels) width = std::max(width, canvas.measure(label, style).width);
  return width;
}

}  // namespace buoy
