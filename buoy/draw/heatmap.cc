// Draws heatmaps: settles colours, plans a grid of equal panels, then paints panel by panel.
#include "buoy/draw/heatmap.h"

#include <algorithm>
#include <cmath>

#include "buoy/base/error.h"
#include "buoy/draw/cell_axes.h"
#include "buoy/draw/chrome.h"
#include "buoy/draw/color_bar.h"
#include "buoy/draw/draw.h"

namespace buoy {
namespace {

// Larger cells show nothing more; numbers need the room.
constexpr Size kLargestCell = {30, 20}, kLargestNumberedCell = {38, 26};
constexpr double kPanelGap = 12;
constexpr double kNarrowestFigure = 130;

std::string place_of(const Heatmap& heatmap, std::size_t panel) {
  return fmt::format("heatmap \"{}\", panel {}", heatmap.title, panel + 1);
}

void check_axis(const CellAxis& axis, Index count, const char* what, const std::string& place) {
  if (!axis.labels.empty() && std::ssize(axis.labels) != count) {
    fail("{}: {} {} labels, expected {}", place, axis.labels.size(), what, count);
  }
}

void check_panel(const Heatmap& heatmap, const HeatmapPanel& panel, const std::string& place) {
  const Index rows = panel.rows, columns = panel.columns;
  if (rows < 1 || columns < 1) fail("{}: {} × {} cells, expected at least 1 × 1", place, rows, columns);
  if (std::ssize(panel.values) != rows * columns) {
    fail("{}: {} values, expected {} × {}", place, panel.values.size(), rows, columns);
  }
  if (!panel.hatched.empty() && panel.hatched.size() != panel.values.size()) {
    fail("{}: {} hatch marks, expected {}", place, panel.hatched.size(), panel.values.size());
  }
  check_axis(heatmap.row_axis, rows, "row", place);
  check_axis(heatmap.column_axis, columns, "column", place);
  for (const CellBlock& b : panel.outlined) {
    const bool inside = 0 <= b.row_begin && b.row_begin < b.row_end && b.row_end <= rows &&
                        0 <= b.column_begin && b.column_begin < b.column_end && b.column_end <= columns;
    if (!inside) {
      fail("{}: outline of rows {} to {} and columns {} to {}, expected within {} × {}", place, b.row_begin,
           b.row_end, b.column_begin, b.column_end, rows, columns);
    }
  }
  for (const ColumnLabel& label : panel.labels) {
    if (label.column < 0 || label.column >= columns) {
      fail("{}: label at column {}, expected one of {}", place, label.column, columns);
    }
  }
  Index end = 0;
  for (const Band& band : heatmap.bands) {
    if (band.begin < end || band.end <= band.begin || band.end > columns) {
      fail("{}: band \"{}\" from {} to {}, expected ascending and within {} columns", place, band.name,
           band.begin, band.end, columns);
    }
    end = band.end;
  }
}

// All panels have the same size, so that they can be compared.
struct Grid {
  Index across = 1, down = 1;
  AxisLabels inner_rows = AxisLabels::kHidden;     // row labels at panels that are not leftmost
  AxisLabels inner_columns = AxisLabels::kHidden;  // column labels at panels with another one below
  double axis_title = 0, row_gutter = 0, panel_title = 0, foot = 0;
  std::vector<double> heads;  // per line of panels
  Size plot;

  double gutter(Index column) const {
    return column == 0 || inner_rows == AxisLabels::kShown ? row_gutter : 0;
  }
  double left(Index column) const {
    double x = kMargin + axis_title;
    for (Index c = 0; c <= column; ++c) x += gutter(c) + (c > 0 ? plot.width + kPanelGap : 0);
    return x;
  }
  double right() const { return left(across - 1) + plot.width; }
};

template <typename Count>
AxisLabels inner_labels(const std::vector<HeatmapPanel>& panels, Count count) {
  const bool same =
      std::ranges::all_of(panels, [&](const HeatmapPanel& p) { return count(p) == count(panels[0]); });
  return same ? AxisLabels::kHidden : AxisLabels::kShown;
}

const Size& largest_cell(const Heatmap& heatmap) {
  return heatmap.numbers == CellNumbers::kShown ? kLargestNumberedCell : kLargestCell;
}

double chosen_height(const Heatmap& heatmap, Index rows, Index columns, const Grid& grid) {
  if (heatmap.panel_height > 0) return heatmap.panel_height;
  const double square = grid.plot.width * static_cast<double>(rows) / static_cast<double>(columns);
  const double least = grid.down > 4 ? std::clamp(2.5 * static_cast<double>(rows), 26.0, 60.0)
                                     : std::clamp(5.0 * static_cast<double>(rows), 20.0, 90.0);
  return std::max(least, std::min({square, largest_cell(heatmap).height * static_cast<double>(rows), 300.0}));
}

Grid plan_grid(const Canvas& canvas, const Heatmap& heatmap) {
  const std::vector<HeatmapPanel>& panels = heatmap.panels;
  Grid grid;
  grid.across = std::clamp<Index>(heatmap.panels_across, 1, std::ssize(panels));
  grid.down = (std::ssize(panels) + grid.across - 1) / grid.across;
  grid.inner_rows = inner_labels(panels, [](const HeatmapPanel& p) { return p.rows; });
  grid.inner_columns = inner_labels(panels, [](const HeatmapPanel& p) { return p.columns; });
  grid.axis_title = heatmap.row_axis.title.empty() ? 0 : kAxisTitleHeight;
  Index rows = 0, columns = 0;
  for (const HeatmapPanel& panel : panels) {
    rows = std::max(rows, panel.rows);
    columns = std::max(columns, panel.columns);
    if (!panel.title.empty()) grid.panel_title = std::max(grid.panel_title, kPanelTitle);
    if (panel.color) grid.panel_title = kColorBarHeight;
    grid.row_gutter = std::max(grid.row_gutter, plan_rows(canvas, heatmap.row_axis, panel.rows, 1).extent);
  }
  const double room = heatmap.width - kMargin - grid.right();
  grid.plot.width = std::min(room / static_cast<double>(grid.across),
                             largest_cell(heatmap).width * static_cast<double>(columns));
  if (grid.plot.width < 10) {
    fail("heatmap \"{}\": {} panels across do not fit into {} points", heatmap.title, grid.across,
         heatmap.width);
  }
  grid.plot.height = chosen_height(heatmap, rows, columns, grid);
  grid.heads.assign(static_cast<std::size_t>(grid.down), 0);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    grid.foot = std::max(grid.foot, plan_foot(canvas, heatmap, panels[i].columns, grid.plot.width).extent);
    double& head = grid.heads[i / static_cast<std::size_t>(grid.across)];
    head = std::max(head, plan_head(canvas, panels[i], grid.plot.width).extent);
  }
  return grid;
}

// A panel as it is painted: cells in order from the top.
struct PanelView {
  const HeatmapPanel& panel;
  const Shade& shade;
  Box plot;
  RowOrder order;

  double cell_width() const { return plot.width / static_cast<double>(panel.columns); }
  double cell_height() const { return plot.height / static_cast<double>(panel.rows); }
  std::size_t index(Index line, Index column) const {
    const Index row = order == RowOrder::kDown ? line : panel.rows - 1 - line;
    return static_cast<std::size_t>(row * panel.columns + column);
  }
  Color color(Index line, Index column) const { return shade(panel.values[index(line, column)]); }
  Color ink(Index line, Index column) const { return ink_on(color(line, column), shade.map); }
  bool hatched(Index line, Index column) const {
    return !panel.hatched.empty() && panel.hatched[index(line, column)] != 0;
  }
  // Lines begin <= line < end counted from the top.
  Box block(Index line_begin, Index line_end, Index column_begin, Index column_end) const {
    return {plot.x + static_cast<double>(column_begin) * cell_width(),
            plot.y + static_cast<double>(line_begin) * cell_height(),
            static_cast<double>(column_end - column_begin) * cell_width(),
            static_cast<double>(line_end - line_begin) * cell_height()};
  }
};

void paint_cells(Canvas& canvas, const PanelView& view) {
  std::vector<Color> colors;
  colors.reserve(view.panel.values.size());
  canvas.fill(view.plot, kBlank);
  for (Index line = 0; line < view.panel.rows; ++line) {
    for (Index column = 0; column < view.panel.columns; ++column) {
      const bool blank = std::isnan(view.panel.values[view.index(line, column)]);
      colors.push_back(blank ? with_alpha(kBlank, 0) : view.color(line, column));
    }
  }
  canvas.cells(view.plot, view.panel.columns, colors, in_the_dark(view.shade.map));
}

// Runs of hatched cells down a column become one box: dark lines on light cells, white lines on dark ones.
void paint_hatches(Canvas& canvas, const PanelView& view) {
  std::vector<Box> on_light, on_dark;
  for (Index column = 0; column < view.panel.columns; ++column) {
    for (Index line = 0; line < view.panel.rows; ++line) {
      if (!view.hatched(line, column)) continue;
      const Color ink = view.ink(line, column);
      Index end = line + 1;
      while (end < view.panel.rows && view.hatched(end, column) && view.ink(end, column) == ink) ++end;
      (luminance(ink) < 0.5 ? on_light : on_dark).push_back(view.block(line, end, column, column + 1));
      line = end - 1;
    }
  }
  const bool for_white = is_for_white(view.shade.map);
  canvas.hatch(on_light, for_white ? kInk : kInkOnCells);
  canvas.hatch(on_dark, with_alpha(for_white ? kWhite : kWhiteOnCells, 0.8));
}

void paint_outlines(Canvas& canvas, const PanelView& view) {
  for (const CellBlock& b : view.panel.outlined) {
    const bool down = view.order == RowOrder::kDown;
    const Box box =
        view.block(down ? b.row_begin : view.panel.rows - b.row_end,
                   down ? b.row_end : view.panel.rows - b.row_begin, b.column_begin, b.column_end);
    canvas.stroke(box, {.color = kWhite, .width = 2.2});
    canvas.stroke(box, {.color = kMark, .width = 1.2});
  }
}

void paint_numbers(Canvas& canvas, const PanelView& view, int decimals) {
  TextStyle style{.size = kSmallSize, .align_x = AlignX::kCentre, .align_y = AlignY::kMiddle};
  std::vector<std::string> texts;
  for (const float value : view.panel.values) {
    texts.push_back(std::isnan(value) ? "" : format_number(value, decimals));
  }
  if (widest(canvas, texts, style) + 2 > view.cell_width() || kSmallSize * 1.15 > view.cell_height()) return;
  for (Index line = 0; line < view.panel.rows; ++line) {
    for (Index column = 0; column < view.panel.columns; ++column) {
      const Box cell = view.block(line, line + 1, column, column + 1);
      style.color = view.ink(line, column);
      canvas.text({cell.middle_x(), cell.middle_y()}, texts[view.index(line, column)], style);
    }
  }
}

void draw_panel(Canvas& canvas, const Heatmap& heatmap, const PanelView& view) {
  paint_cells(canvas, view);
  paint_hatches(canvas, view);
  canvas.stroke(view.plot, {.color = kAxisInk, .width = kHairline});
  paint_outlines(canvas, view);
  if (heatmap.numbers == CellNumbers::kShown) paint_numbers(canvas, view, heatmap.decimals);
  draw_head(canvas, plan_head(canvas, view.panel, view.plot.width), view.plot);

  const bool barred = view.panel.color.has_value();
  const double top = view.plot.y - plan_head(canvas, view.panel, view.plot.width).extent;
  const double bar = std::min(70.0, view.plot.width * 0.45);
  TextStyle title{.size = kTextSize, .weight = Weight::kBold};
  const Point at{view.plot.x, top - (barred ? kColorBarHeight : kPanelTitle)};
  const bool swatched = view.panel.swatch != kColorByOrder;
  const double left = swatched ? kSwatch : 0;
  if (swatched) draw_swatch(canvas, {at.x, at.y + kTextSize * 0.6}, view.panel.swatch);
  title.max_width =
      view.plot.width - left - (barred ? color_bar_width(canvas, *view.panel.color, bar) + 4 : 0);
  canvas.text({at.x + left, at.y}, view.panel.title, title);
  if (barred) {
    draw_color_bar(canvas, view.shade, *view.panel.color, {view.plot.right(), top - kColorBarHeight}, bar);
  }
}

// The key on the left, the colour bar on the right; below each other where the figure is narrow.
double draw_strip(Canvas& canvas, const Heatmap& heatmap, const Shade* shade, Point at, double right) {
  std::vector<KeyEntry> key;
  if (!heatmap.hatch_name.empty()) key.push_back({heatmap.hatch_name, KeyShape::kHatch, kInk});
  if (!heatmap.outline_name.empty()) key.push_back({heatmap.outline_name, KeyShape::kOutline, kMark});
  if (shade == nullptr) return draw_key(canvas, key, at, right);
  const double bar = std::clamp((right - at.x) * 0.3, 56.0, 110.0);
  draw_color_bar(canvas, *shade, heatmap.color, {right, at.y}, bar);
  if (key.empty()) return kColorBarHeight;
  const double needed = key_width(canvas, key) + color_bar_width(canvas, heatmap.color, bar) + 10;
  if (needed <= right - at.x) return std::max(kColorBarHeight, draw_key(canvas, key, at, right));
  return kColorBarHeight + draw_key(canvas, key, {at.x, at.y + kColorBarHeight}, right);
}

struct Shades {
  std::vector<Shade> of_panel;
  std::optional<Shade> shared;
};

Shades settle_all(const Heatmap& heatmap) {
  std::vector<std::span<const float>> sharing;
  for (const HeatmapPanel& panel : heatmap.panels) {
    if (!panel.color) sharing.emplace_back(panel.values);
  }
  Shades shades;
  if (!sharing.empty()) shades.shared = settle(heatmap.color, sharing, place_of(heatmap, 0));
  for (std::size_t i = 0; i < heatmap.panels.size(); ++i) {
    const HeatmapPanel& panel = heatmap.panels[i];
    const std::span<const float> own[] = {panel.values};
    shades.of_panel.push_back(panel.color ? settle(*panel.color, own, place_of(heatmap, i)) : *shades.shared);
  }
  return shades;
}

}  // namespace

Size draw(Canvas& canvas, const Heatmap& heatmap) {
  if (heatmap.panels.empty()) fail("heatmap \"{}\": no panels, expected at least one", heatmap.title);
  for (std::size_t i = 0; i < heatmap.panels.size(); ++i) {
    check_panel(heatmap, heatmap.panels[i], place_of(heatmap, i));
  }
  const Shades shades = settle_all(heatmap);
  const Grid grid = plan_grid(canvas, heatmap);
  const double right = std::max(grid.right(), kMargin + kNarrowestFigure);
  double y = kMargin;
  y += draw_heading(canvas, heatmap.title, {kMargin, y}, right);
  y += draw_strip(canvas, heatmap, shades.shared ? &*shades.shared : nullptr, {grid.left(0), y}, right);

  const double first = y + grid.panel_title + grid.heads[0];
  double bottom = y;
  for (Index i = 0; i < std::ssize(heatmap.panels); ++i) {
    const HeatmapPanel& panel = heatmap.panels[static_cast<std::size_t>(i)];
    const Index column = i % grid.across;
    if (column == 0) y += grid.panel_title + grid.heads[static_cast<std::size_t>(i / grid.across)];
    const Box plot{grid.left(column), y, grid.plot.width, grid.plot.height};
    draw_panel(canvas, heatmap,
               {panel, shades.of_panel[static_cast<std::size_t>(i)], plot, heatmap.row_order});
    if (grid.gutter(column) > 0) {
      const double pitch = plot.height / static_cast<double>(panel.rows);
      draw_rows(canvas, plan_rows(canvas, heatmap.row_axis, panel.rows, pitch), plot, panel.rows,
                heatmap.row_order);
    }
    const bool lowest = i + grid.across >= std::ssize(heatmap.panels);
    const bool footed = lowest || grid.inner_columns == AxisLabels::kShown;
    if (footed)
      draw_foot(canvas, plan_foot(canvas, heatmap, panel.columns, plot.width), heatmap, plot, panel.columns);
    bottom = std::max(bottom, plot.bottom() + (footed ? grid.foot : 0));
    if (column == grid.across - 1)
      y = plot.bottom() + (grid.inner_columns == AxisLabels::kShown ? grid.foot : 0) + 7;
  }
  draw_side_title(canvas, heatmap.row_axis.title, {first, bottom - grid.foot}, bottom);
  bottom += draw_note(canvas, heatmap.note, {kMargin, bottom}, right);
  return {right + kMargin, bottom + kMargin};
}

}  // namespace buoy
