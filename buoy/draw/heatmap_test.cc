// Heatmaps: colours where they belong, hatching, labels that never overlap, odd shapes, errors.
#include "buoy/draw/heatmap.h"

#include <cmath>

#include "buoy/draw/cell_axes.h"
#include "buoy/draw/test_support.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

TEST(Heatmap, CellsHaveTheColorsOfTheirValues) {
  const Picture picture = picture_of(one_panel(2, 2, {0, 1, kNan, 0.5}));
  const Index cell = picture.count(map_color(ColorMap::kViridis, 1));
  EXPECT_GT(cell, 1000);
  EXPECT_NEAR(static_cast<double>(picture.count(kBlank)), static_cast<double>(cell),
              0.1 * static_cast<double>(cell));
  EXPECT_GT(picture.count(map_color(ColorMap::kViridis, 0.5)), cell * 8 / 10);
}

TEST(Heatmap, RowZeroStandsOnTopOrAtTheBottom) {
  Heatmap heatmap = one_panel(2, 1, {0, 1});
  const auto first_row_of = [](const Picture& p, Color color) {
    const auto byte = [](double v) { return static_cast<std::uint32_t>(std::lround(v * 255)); };
    const std::uint32_t wanted = byte(color.r) << 16 | byte(color.g) << 8 | byte(color.b);
    // Below the colour bar, which holds every colour.
    const auto from = p.pixels.begin() + p.width * 100;
    return (std::find(from, p.pixels.end(), wanted) - p.pixels.begin()) / p.width;
  };
  const Color high = map_color(ColorMap::kViridis, 1), low = map_color(ColorMap::kViridis, 0);
  const Picture down = picture_of(heatmap);
  EXPECT_LT(first_row_of(down, low), first_row_of(down, high));
  heatmap.row_order = RowOrder::kUp;
  const Picture up = picture_of(heatmap);
  EXPECT_GT(first_row_of(up, low), first_row_of(up, high));
}

TEST(Heatmap, HatchingChangesTheMarkedCellOnly) {
  Heatmap heatmap = one_panel(2, 2, {0, 1, 1, 0.5});
  const Picture plain = picture_of(heatmap);
  heatmap.panels[0].hatched = {0, 1, 0, 0};
  const Picture hatched = picture_of(heatmap);
  ASSERT_EQ(plain.pixels.size(), hatched.pixels.size());
  Index left = plain.width, right = 0, top = plain.height, bottom = 0, changed = 0;
  for (Index i = 0; i < std::ssize(plain.pixels); ++i) {
    if (plain.pixels[static_cast<std::size_t>(i)] == hatched.pixels[static_cast<std::size_t>(i)]) continue;
    ++changed;
    left = std::min(left, i % plain.width);
    right = std::max(right, i % plain.width);
    top = std::min(top, i / plain.width);
    bottom = std::max(bottom, i / plain.width);
  }
  // A cell is 30 × 20 points, at 300 pixels per 72 points.
  EXPECT_GT(changed, 300);
  EXPECT_LE(right - left, 30 * 300 / 72 + 2);
  EXPECT_LE(bottom - top, 20 * 300 / 72 + 2);
}

TEST(Heatmap, OddShapesAreDrawn) {
  for (const Heatmap& heatmap :
       {one_panel(1, 1, {3}), one_panel(1, 1, {kNan}), one_panel(2, 2, {5, 5, 5, 5}),
        one_panel(1, 400, std::vector<float>(400)), one_panel(400, 1, std::vector<float>(400, -1))}) {
    for (const ValueScale scale : {ValueScale::kLinear, ValueScale::kSqrt, ValueScale::kLog}) {
      for (const ColorMap map : {ColorMap::kViridis, ColorMap::kDiverging}) {
        if (scale == ValueScale::kLog && map == ColorMap::kDiverging) continue;  // refused, see below
        Heatmap changed = heatmap;
        changed.color = {.title = "value", .map = map, .scale = scale};
        changed.numbers = CellNumbers::kShown;
        EXPECT_FALSE(render_figure(changed, FigureFormat::kSvg).empty());
      }
    }
  }
}

TEST(Heatmap, PanelsOfDifferentShapesStandSideBySide) {
  Heatmap heatmap = one_panel(2, 3, std::vector<float>(6));
  heatmap.panels.push_back({.title = "larger", .rows = 7, .columns = 5, .values = std::vector<float>(35, 1)});
  heatmap.panels_across = 2;
  EXPECT_FALSE(render_figure(heatmap, FigureFormat::kPdf).empty());
}

TEST(Heatmap, ColumnLabelsOnTwoLinesNeverOverlap) {
  HeatmapPanel panel{.rows = 1, .columns = 400, .values = std::vector<float>(400)};
  for (Index i = 0; i < 400; i += 3)
    panel.labels.push_back({i, "token\n" + std::to_string(i), static_cast<double>(i % 7)});
  const Canvas canvas(Medium::kNone, {});
  const HeadPlan plan = plan_head(canvas, panel, 400);
  ASSERT_GT(plan.labels.size(), 10U);
  EXPECT_LT(plan.labels.size(), panel.labels.size());
  const TextStyle style{.size = kSmallSize, .turn = plan.turn};
  for (std::size_t i = 1; i < plan.labels.size(); ++i) {
    const double before = canvas.measure(plan.labels[i - 1].text, style).width;
    const double after = canvas.measure(plan.labels[i].text, style).width;
    EXPECT_GE(plan.labels[i].at - plan.labels[i - 1].at, (before + after) / 2 - 1e-6);
  }
}

TEST(Heatmap, BandNamesThatHaveNoRoomAreShortenedOrMovedOut) {
  const Canvas canvas(Medium::kNone, {});
  Heatmap heatmap;
  heatmap.bands = {{0, 1, "BOS"}, {1, 200, "Query"}, {200, 210, "Doc1", "1"}, {210, 400, "Doc2", "2"}};
  const FootPlan plan = plan_foot(canvas, heatmap, 400, 200);
  ASSERT_EQ(plan.bands.names.size(), 4U);
  EXPECT_TRUE(plan.bands.names[0].below) << "one position has no room for BOS";
  EXPECT_FALSE(plan.bands.names[1].below);
  EXPECT_EQ(plan.bands.names[2].text, "1");
  EXPECT_EQ(plan.bands.names[3].text, "2") << "all documents are named alike";
}

TEST(Heatmap, ErrorsNameTheFigureAndThePanel) {
  Heatmap heatmap = one_panel(2, 2, {1, 2, 3});
  heatmap.title = "Drift";
  const auto error = [](const Figure& figure) {
    return error_of([&] { render_figure(figure, FigureFormat::kSvg); });
  };
  EXPECT_EQ(error(heatmap), "heatmap \"Drift\", panel 1: 3 values, expected 2 × 2");
  heatmap.panels[0].values.push_back(4);
  heatmap.bands = {{0, 3, "Query"}};
  EXPECT_EQ(
      error(heatmap),
      "heatmap \"Drift\", panel 1: band \"Query\" from 0 to 3, expected ascending and within 2 columns");
  heatmap.bands.clear();
  heatmap.panels[0].outlined = {{0, 1, 1, 3}};
  EXPECT_NE(error(heatmap).find("outline of rows 0 to 1 and columns 1 to 3"), std::string::npos);
  heatmap.panels[0].outlined.clear();
  heatmap.color = {.scale = ValueScale::kLog, .low = -1};
  EXPECT_NE(error(heatmap).find("log colour scale starts at -1"), std::string::npos);
  EXPECT_EQ(error(Heatmap{.title = "None"}), "heatmap \"None\": no panels, expected at least one");
  EXPECT_EQ(error(one_panel(0, 4, {})), "heatmap \"\", panel 1: 0 × 4 cells, expected at least 1 × 1");
}

}  // namespace
}  // namespace buoy
