#include "buoy/draw/cell_axes.h"

#include <algorithm>
#include <cmath>

#include "buoy/draw/chrome.h"
#include "buoy/draw/layout.h"

namespace buoy {
namespace {

constexpr double kLine = kSmallSize * 1.2;
constexpr double kLongestLabel = 64;  // along the text; more is cut
constexpr double kBandHeight = 9;
constexpr double kFarthest = 30;  // a name farther from its band is turned instead
constexpr double kLeader = 6;     // between a plot and the labels that point at it

const TextStyle kLabel = {.size = kSmallSize, .color = kSoftInk, .max_width = kLongestLabel};

std::string label_of(const CellAxis& axis, Index i) {
  if (axis.labels.empty()) return std::to_string(axis.first + i);
  return axis.labels[static_cast<std::size_t>(i)];
}

double widest_label(const Canvas& canvas, const CellAxis& axis, Index count) {
  if (axis.labels.empty()) {
    return std::max(canvas.measure(label_of(axis, 0), kLabel).width,
                    canvas.measure(label_of(axis, count - 1), kLabel).width);
  }
  return widest(canvas, axis.labels, kLabel);
}

void choose(LabelPlan& plan, const CellAxis& axis, Index count, double pitch, double needed) {
  plan.shown = thin_evenly(count, axis.labels.empty() ? axis.first : 0, pitch, needed);
  for (const Index i : plan.shown) plan.texts.push_back(label_of(axis, i));
}

LabelPlan plan_columns(const Canvas& canvas, const CellAxis& axis, Index columns, double pitch) {
  LabelPlan plan;
  const double width = widest_label(canvas, axis, columns);
  const bool named = !axis.labels.empty();
  plan.turn = named && width + 2 > pitch ? Turn::kUp : Turn::kNone;
  choose(plan, axis, columns, pitch, plan.turn == Turn::kUp ? kLine : width + (named ? 2 : 5));
  plan.extent = kTickLength + 1 + (plan.turn == Turn::kUp ? width : kLine);
  return plan;
}

bool stay_close(const std::vector<Wish>& wishes, const std::vector<std::optional<double>>& placed) {
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (!placed[i] || std::abs(*placed[i] - wishes[i].at) > kFarthest) return false;
  }
  return true;
}

BandPlan plan_bands(const Canvas& canvas, const std::vector<Band>& bands, double pitch, double width) {
  BandPlan plan;
  if (bands.empty()) return plan;
  const auto room = [&](const Band& band) {
    return static_cast<double>(band.end - band.begin) * pitch - 1.5;
  };
  const auto fits = [&](const Band& band, const std::string& name) {
    return canvas.measure(name, kSmallText).width <= room(band);
  };
  const bool shorten = std::ranges::any_of(
      bands, [&](const Band& band) { return !band.short_name.empty() && !fits(band, band.name); });
  std::vector<Wish> wishes;
  std::vector<std::size_t> narrow;
  double longest = 0;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const Band& band = bands[i];
    const std::string& name = shorten && !band.short_name.empty() ? band.short_name : band.name;
    if (name.empty()) continue;
    plan.names.push_back({static_cast<Index>(i), name, {}});
    if (fits(band, name)) continue;
    narrow.push_back(plan.names.size() - 1);
    const double size = canvas.measure(name, kLabel).width;
    longest = std::max(longest, size);
    wishes.push_back({.at = static_cast<double>(band.begin + band.end) / 2 * pitch,
                      .size = size + 4,
                      .weight = static_cast<double>(band.end - band.begin) + (band.marked ? 1e9 : 0)});
  }
  auto placed = declutter(wishes, 0, width);
  if (!stay_close(wishes, placed)) {
    plan.turn = Turn::kUp;
    for (Wish& wish : wishes) wish.size = kLine;
    placed = declutter(wishes, 0, width);
  }
  for (std::size_t k = 0; k < narrow.size(); ++k) {
    BandPlan::Name& name = plan.names[narrow[k]];
    name.below = placed[k];
    if (!placed[k]) name.text.clear();
  }
  plan.extent = kBandHeight;
  if (!narrow.empty()) plan.extent += kLeader + 1 + (plan.turn == Turn::kUp ? longest : kLine);
  return plan;
}

void draw_bands(Canvas& canvas, const BandPlan& plan, const std::vector<Band>& bands, const Box& strip,
                double pitch) {
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const Band& band = bands[i];
    const Color tint = band.marked ? with_alpha(kMark, 0.35) : i % 2 == 0 ? kBandShade : kBandTint;
    canvas.fill(Box{strip.x + static_cast<double>(band.begin) * pitch, strip.y,
                    static_cast<double>(band.end - band.begin) * pitch, strip.height},
                tint);
  }
  for (const BandPlan::Name& name : plan.names) {
    if (name.text.empty()) continue;
    const Band& band = bands[static_cast<std::size_t>(name.band)];
    const double middle = strip.x + static_cast<double>(band.begin + band.end) / 2 * pitch;
    TextStyle style = kLabel;
    style.color = kInk;
    style.align_x = AlignX::kCentre;
    if (!name.below) {
      style.align_y = AlignY::kMiddle;
      canvas.text({middle, strip.middle_y()}, name.text, style);
      continue;
    }
    const double x = strip.x + *name.below, y = strip.bottom();
    const Point leader[] = {{middle, y}, {middle, y + 1}, {x, y + kLeader - 1}, {x, y + kLeader}};
    canvas.polyline(leader, {.color = kAxisInk, .width = kHairline});
    style.turn = plan.turn;
    canvas.text({x, y + kLeader + 1}, name.text, style);
  }
}

}  // namespace

LabelPlan plan_rows(const Canvas& canvas, const CellAxis& axis, Index rows, double pitch) {
  LabelPlan plan;
  choose(plan, axis, rows, pitch, axis.labels.empty() ? 1.4 * kLine : kLine);
  plan.extent = widest_label(canvas, axis, rows) + kTickLength + 1.5;
  return plan;
}

void draw_rows(Canvas& canvas, const LabelPlan& plan, const Box& plot, Index rows, RowOrder order) {
  const double pitch = plot.height / static_cast<double>(rows);
  TextStyle style = kLabel;
  style.align_x = AlignX::kRight;
  style.align_y = AlignY::kMiddle;
  for (std::size_t k = 0; k < plan.shown.size(); ++k) {
    const Index row = order == RowOrder::kDown ? plan.shown[k] : rows - 1 - plan.shown[k];
    const double y = plot.y + (static_cast<double>(row) + 0.5) * pitch;
    canvas.line({plot.x - kTickLength, y}, {plot.x, y}, {});
    canvas.text({plot.x - kTickLength - 1.5, y}, plan.texts[k], style);
  }
}

FootPlan plan_foot(const Canvas& canvas, const Heatmap& heatmap, Index columns, double width) {
  const double pitch = width / static_cast<double>(columns);
  FootPlan plan;
  plan.labels = plan_columns(canvas, heatmap.column_axis, columns, pitch);
  plan.bands = plan_bands(canvas, heatmap.bands, pitch, width);
  plan.extent = plan.labels.extent + (plan.bands.extent > 0 ? plan.bands.extent + 2 : 0) +
                (heatmap.column_axis.title.empty() ? 0 : kAxisTitleHeight);
  return plan;
}

void draw_foot(Canvas& canvas, const FootPlan& plan, const Heatmap& heatmap, const Box& plot, Index columns) {
  const double pitch = plot.width / static_cast<double>(columns);
  double y = plot.bottom();
  TextStyle style = kLabel;
  style.align_x = AlignX::kCentre;
  style.turn = plan.labels.turn;
  for (std::size_t k = 0; k < plan.labels.shown.size(); ++k) {
    const double x = plot.x + (static_cast<double>(plan.labels.shown[k]) + 0.5) * pitch;
    canvas.line({x, y}, {x, y + kTickLength}, {});
    canvas.text({x, y + kTickLength + 1}, plan.labels.texts[k], style);
  }
  y += plan.labels.extent;
  if (plan.bands.extent > 0) {
    draw_bands(canvas, plan.bands, heatmap.bands, {plot.x, y + 2, plot.width, kBandHeight}, pitch);
    y += plan.bands.extent + 2;
  }
  TextStyle title = kAxisTitle;
  title.align_x = AlignX::kCentre;
  canvas.text({plot.middle_x(), y + 1.5}, heatmap.column_axis.title, title);
}

HeadPlan plan_head(const Canvas& canvas, const HeatmapPanel& panel, double width) {
  HeadPlan plan;
  if (panel.labels.empty()) return plan;
  const double pitch = width / static_cast<double>(panel.columns);
  double total = 0, longest = 0, tallest = 0;
  for (const ColumnLabel& label : panel.labels) {
    const Size size = canvas.measure(label.text, kLabel);
    total += size.width + 4;
    longest = std::max(longest, size.width);
    tallest = std::max(tallest, size.height);
  }
  plan.turn = total <= width ? Turn::kNone : Turn::kUp;
  std::vector<Wish> wishes;
  for (const ColumnLabel& label : panel.labels) {
    const Size size = canvas.measure(label.text, kLabel);
    wishes.push_back({.at = (static_cast<double>(label.column) + 0.5) * pitch,
                      .size = plan.turn == Turn::kUp ? size.height : size.width + 4,
                      .weight = label.weight});
  }
  const auto placed = declutter(wishes, 0, width);
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (placed[i]) plan.labels.push_back({panel.labels[i].text, wishes[i].at, *placed[i]});
  }
  plan.extent = kLeader + 1 + (plan.turn == Turn::kUp ? longest : tallest);
  return plan;
}

void draw_head(Canvas& canvas, const HeadPlan& plan, const Box& plot) {
  TextStyle style = kLabel;
  style.color = kInk;
  style.align_x = AlignX::kCentre;
  style.align_y = AlignY::kBottom;
  style.turn = plan.turn;
  for (const HeadPlan::Label& label : plan.labels) {
    const double column = plot.x + label.column, x = plot.x + label.at, y = plot.y;
    const Point leader[] = {{column, y}, {column, y - 1}, {x, y - kLeader + 1}, {x, y - kLeader}};
    canvas.polyline(leader, {.color = kAxisInk, .width = kHairline});
    canvas.text({x, y - kLeader - 1}, label.text, style);
  }
}

}  // namespace buoy
