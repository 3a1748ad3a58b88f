// Every kind of figure in every format: right files, same bytes, nothing lost, errors that name the place.
#include "buoy/draw/figure.h"

#include <cstdlib>
#include <limits>
#include <thread>

#include "buoy/draw/chrome.h"
#include "buoy/draw/test_support.h"
#include "buoy/io/file.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

Heatmap full_heatmap() {
  Heatmap heatmap{.title = "Drift " + kScripts,
                  .note = "n = 3",
                  .width = kColumnWidth,
                  .panels_across = 2,
                  .row_axis = {.title = "Step"},
                  .column_axis = {.title = "Position"},
                  .bands = {{0, 1, "BOS"}, {1, 30, "Query"}, {30, 40, "Doc1", "1", true}},
                  .hatch_name = "anchor",
                  .outline_name = "gold",
                  .color = {.title = "received", .scale = ValueScale::kSqrt}};
  for (Index p = 0; p < 3; ++p) {
    HeatmapPanel panel{.title = "Layer", .rows = 5, .columns = 40};
    for (Index i = 0; i < 200; ++i) panel.values.push_back(static_cast<float>((i * 37 + p) % 11) / 100);
    panel.hatched.assign(200, 0);
    panel.hatched[42] = 1;
    panel.outlined = {{0, 5, 30, 40}};
    panel.labels = {{2, "a", 1}, {3, kScripts, 2}, {39, "\n", 1}};
    heatmap.panels.push_back(panel);
  }
  heatmap.panels[2].color = ColorScale{.title = "own", .map = ColorMap::kDiverging};
  return heatmap;
}

Curves full_curves() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {.title = "Absorption",
          .note = "n = 3",
          .x_title = "Layer",
          .y_title = kScripts,
          .panels = {{.title = "one",
                      .series = {{.name = "mdm",
                                  .x = {0, 1, 2, 3},
                                  .y = {1, 2, nan, 4},
                                  .low = {0.5, 1, nan, 3},
                                  .high = {2, 3, nan, 5},
                                  .null = {1, 1, 1, 1},
                                  .markers = Markers::kDots},
                                 {.name = "empty"},
                                 {.name = "point", .x = {2}, .y = {3}}},
                      .bands = {{0, 2, "Query"}, {2, 5, "Doc1", true}}}}};
}

Bars full_bars() {
  return {.title = "EM",
          .width = 150,
          .y_title = "%",
          .reference = ReferenceLine{0.5, "chance"},
          .labels = ValueLabels::kShown,
          .groups = {"closed book", kScripts},
          .series = {{"mdm", {{1, 0.5, 2, 0.3}, {-2, -3, -1}}}, {"arm", {{}, {3}}}}};
}

Curves curves_with_own_axes() {
  Curves curves = full_curves();
  curves.width = kTextWidth;
  curves.panels_across = 2;
  curves.panels.push_back(curves.panels[0]);
  for (CurvePanel& panel : curves.panels) {
    panel.bands.clear();
    panel.x_title = kScripts;
    panel.x_ticks = {{0, "none"}, {1, "0.5"}, {3, std::string(60, 'x')}};
  }
  return curves;
}

Forest full_forest() {
  return {.title = "Claims",
          .note = "n = 3",
          .x_title = kScripts,
          .text_title = "value",
          .x_range = Range{-2, 4},
          .origin_name = "null",
          .threshold = 1,
          .threshold_name = "δ",
          .key = {{ForestMark::kDot, "yes"}, {ForestMark::kCross, "no"}, {ForestMark::kRing, "open"}},
          .null_key = {{ForestNullMark::kTick, "stated"}, {ForestNullMark::kTriangle, kScripts}},
          .rows = {{"A", kScripts, "one", 2, 1.5, 9, ForestMark::kDot, "2 [1.5, 9]"},
                   {"A", kScripts, "two", -30, -40, -20, ForestMark::kCross, kScripts},
                   {"B", std::string(200, 'x'), "", 0.5, 0, 1.2, ForestMark::kRing, std::string(99, 'y')},
                   {.group = "B",
                    .name = "compared",
                    .value = 1,
                    .nulls = {{-9, ForestNullMark::kTick},
                              {0, ForestNullMark::kSquare},
                              {0.1, ForestNullMark::kDiamond},
                              {99, ForestNullMark::kTriangle}}},
                   {.group = "B", .name = "nothing", .text = "not measured"}}};
}

const std::vector<Figure>& one_of_each() {
  static const std::vector<Figure> figures = {full_heatmap(), full_curves(), full_bars(),
                                              curves_with_own_axes(), full_forest()};
  return figures;
}

TEST(Figure, EveryKindRendersInEveryFormat) {
  for (const Figure& figure : one_of_each()) {
    const std::string pdf = render_figure(figure, FigureFormat::kPdf);
    EXPECT_TRUE(pdf.starts_with("%PDF-"));
    EXPECT_NE(pdf.find("/FontFile"), std::string::npos) << "text is text, with its font inside";
    const std::string svg = render_figure(figure, FigureFormat::kSvg);
    EXPECT_TRUE(svg.starts_with("<?xml"));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    const std::string png = render_figure(figure, FigureFormat::kPng);
    EXPECT_TRUE(png.starts_with("\x89PNG\r\n"));
    const Picture picture = decode(png);
    EXPECT_LT(picture.count(kWhite), std::ssize(picture.pixels) * 99 / 100);
    EXPECT_GT(picture.count(kInk), 20);
  }
}

TEST(Figure, TheSameFigureGivesTheSameBytes) {
  for (const Figure& figure : one_of_each()) {
    for (const FigureFormat format : {FigureFormat::kPdf, FigureFormat::kSvg, FigureFormat::kPng}) {
      EXPECT_EQ(render_figure(figure, format), render_figure(figure, format));
    }
  }
}

TEST(Figure, ThreadsDrawTheSameBytes) {
  std::string bytes[2];
  {
    std::jthread first([&] { bytes[0] = render_figure(full_bars(), FigureFormat::kSvg); });
    std::jthread second([&] { bytes[1] = render_figure(full_bars(), FigureFormat::kSvg); });
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  EXPECT_EQ(bytes[0], render_figure(full_bars(), FigureFormat::kSvg));
}

TEST(Figure, PngHas300PixelsPerInch) {
  Bars bars = full_bars();
  bars.width = 144;
  EXPECT_EQ(picture_of(bars).width, 600);
}

TEST(Figure, NothingIsDrawnAtTheEdge) {
  for (const Figure& figure : one_of_each()) {
    const Picture p = picture_of(figure);
    for (Index y = 0; y < p.height; ++y) {
      EXPECT_EQ(p.pixels[static_cast<std::size_t>(y * p.width)], 0xFFFFFFU) << "left edge at " << y;
      EXPECT_EQ(p.pixels[static_cast<std::size_t>((y + 1) * p.width - 1)], 0xFFFFFFU)
          << "right edge at " << y;
    }
    for (Index x = 0; x < p.width; ++x) {
      EXPECT_EQ(p.pixels[static_cast<std::size_t>(x)], 0xFFFFFFU) << "top edge at " << x;
      EXPECT_EQ(p.pixels[static_cast<std::size_t>((p.height - 1) * p.width + x)], 0xFFFFFFU)
          << "bottom edge at " << x;
    }
  }
}

TEST(Curves, OddSeriesAreDrawn) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Series& series :
       {Series{.name = "empty"}, Series{.name = "point", .x = {1}, .y = {5}},
        Series{.name = "flat", .x = {0, 1}, .y = {2, 2}}, Series{.name = "nan", .x = {0, 1}, .y = {nan, nan}},
        Series{.name = "one x", .x = {3, 3}, .y = {1, 2}}}) {
    const Curves curves{.panels = {{.series = {series}}}};
    EXPECT_GT(picture_of(curves).count(kAxisInk), 100) << series.name;
  }
}

TEST(Curves, ASeriesKeepsItsColorInEveryPanel) {
  Curves curves{.panels = {{.series = {{.name = "a", .x = {0, 1}, .y = {0, 1}},
                                       {.name = "b", .x = {0, 1}, .y = {1, 0}}}}}};
  curves.panels.push_back({.series = {curves.panels[0].series[1]}});
  const Picture both = picture_of(curves);
  curves.panels[1].series.clear();
  EXPECT_GT(both.count(series_color(1)), picture_of(curves).count(series_color(1)) * 3 / 2);
}

TEST(Curves, LinesWithoutANameAreInkAndInNoKey) {
  const Series strokes{.name = "", .x = {1, 1, 1, 2, 2}, .y = {0, 1, kNan, 0, 1}};
  Curves curves{.legend = LegendPlace::kAbove,
                .panels = {{.series = {strokes}}, {.series = {{.name = "a", .x = {0, 3}, .y = {0, 1}}}}}};
  const Picture drawn = picture_of(curves);
  EXPECT_GT(drawn.count(kSoftInk), 200) << "strokes in the ink of axes";
  EXPECT_GT(drawn.count(series_color(0)), 100) << "the first name has the first colour";
  EXPECT_EQ(drawn.count(series_color(1)), 0);
  curves.panels[0].series[0].name = "b";
  EXPECT_GT(picture_of(curves).count(series_color(1)), 100) << "with a name it would have one of its own";
}

TEST(Curves, TickLabelsHaveRoom) {
  const Canvas canvas(Medium::kNone, {});
  for (const double width : {30.0, 100.0, 400.0}) {
    for (const Range range : {Range{0, 1}, Range{0, 123456}, Range{-0.004, 0.0031}}) {
      const Ticks ticks = fitting_ticks(canvas, range, width, TickStep::kAny);
      ASSERT_FALSE(ticks.at.empty());
      for (std::size_t i = 1; i < ticks.at.size() && width > 30; ++i) {
        const double distance = (ticks.at[i] - ticks.at[i - 1]) / (range.high - range.low) * width;
        EXPECT_GT(distance, canvas.measure(ticks.labels[i], kSmallText).width) << ticks.labels[i];
      }
    }
  }
}

TEST(Curves, MoreThanSixNamesAreRefusedUnlessOrdered) {
  Curves curves{.title = "Many", .panels = {{}}};
  for (int i = 0; i < 7; ++i)
    curves.panels[0].series.push_back({.name = std::to_string(i), .x = {0, 1}, .y = {0, 1}});
  EXPECT_EQ(error_of([&] { render_figure(curves, FigureFormat::kSvg); }),
            "curves \"Many\": 7 names, expected at most 6: use ordered colours or more panels");
  curves.palette = Palette::kOrdered;
  EXPECT_FALSE(render_figure(curves, FigureFormat::kSvg).empty());
}

TEST(Curves, SizesThatDisagreeAreNamed) {
  const Curves curves{.title = "A", .panels = {{.series = {{.name = "s", .x = {0, 1}, .y = {1}}}}}};
  EXPECT_EQ(error_of([&] { render_figure(curves, FigureFormat::kSvg); }),
            "curves \"A\", panel 1, series \"s\": 1 values of y, expected 2");
}

TEST(Curves, PanelsHaveTheirOwnAxesAllOrNone) {
  Curves curves{.title = "A", .panels = {{.series = {{.name = "s", .x = {0, 1}, .y = {1, 2}}}}}};
  curves.panels.push_back(curves.panels[0]);
  const Index plain = picture_of(curves).height;
  curves.panels[1].x_ticks = {{0, "0"}, {1, "1"}};
  EXPECT_EQ(error_of([&] { render_figure(curves, FigureFormat::kSvg); }),
            "curves \"A\", panel 2: ticks of its own unlike panel 1, expected for all panels or for none");
  curves.panels[0].x_ticks = {{0, "first"}, {1, "last"}};
  EXPECT_GT(picture_of(curves).height, plain + 30) << "every panel has room for labels and title";
}

TEST(Forest, AnIntervalPastTheEdgeEndsInAnArrow) {
  Forest forest{.x_range = Range{0, 10},
                .rows = {{.name = "a", .value = 5, .low = 4, .high = 9.9, .color = 0}}};
  const Color color = series_color(0);
  const Index inside = picture_of(forest).count(color);
  forest.rows[0].high = 99;
  EXPECT_GT(picture_of(forest).count(color), inside) << "the arrow's head is filled";
}

TEST(Forest, MarksDifferInColourAndShape) {
  Forest forest{.rows = {{.name = "a", .value = 1}}};
  forest.rows[0].mark = ForestMark::kDot;
  const Index dark = picture_of(forest).count(kInk);
  forest.rows[0].mark = ForestMark::kCross;
  EXPECT_GT(picture_of(forest).count(kMark), 50);
  EXPECT_LT(picture_of(forest).count(kInk), dark - 100);
  forest.rows[0].value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(picture_of(forest).count(kMark), 0) << "what was not measured has no mark";
}

TEST(Forest, EveryNullHasAMarkOfItsOwnShape) {
  Forest forest{.x_range = Range{0, 10}, .rows = {{.name = "a", .value = 5, .color = 0}}};
  const Index bare = picture_of(forest).count(kSoftInk);
  std::set<Index> shapes;
  for (const ForestNullMark mark : {ForestNullMark::kTick, ForestNullMark::kSquare, ForestNullMark::kDiamond,
                                    ForestNullMark::kTriangle}) {
    forest.rows[0].nulls = {{3, mark}};
    const Index inside = picture_of(forest).count(kSoftInk);
    EXPECT_GT(inside, bare);
    shapes.insert(inside);
    forest.rows[0].nulls = {{99, mark}};
    EXPECT_GT(picture_of(forest).count(kSoftInk), bare) << "at the edge";
  }
  EXPECT_EQ(shapes.size(), 4U);
}

TEST(Forest, DataThatDoesNotFitIsNamed) {
  EXPECT_EQ(error_of([] { render_figure(Forest{.title = "F"}, FigureFormat::kSvg); }),
            "forest \"F\": no rows, expected at least one");
  const Forest outside{.title = "F", .rows = {{.name = "a", .value = 5, .low = 6, .high = 7}}};
  EXPECT_EQ(error_of([&] { render_figure(outside, FigureFormat::kSvg); }),
            "forest \"F\", row \"a\": 5 outside its interval from 6 to 7");
}

// A model has its colour in whatever is drawn of it, whoever else is in the figure.
TEST(Figure, TheSameModelHasTheSameColorInEveryKind) {
  constexpr Index kModel = 2;
  Heatmap heatmap = one_panel(1, 2, {0, 1});
  heatmap.panels[0].swatch = kModel;
  const Figure figures[] = {
      Curves{.panels = {{.series = {{.name = "m", .x = {0, 1}, .y = {0, 1}, .color = kModel}}}}},
      Bars{.groups = {"g"}, .series = {{.name = "m", .bars = {{1}}, .color = kModel}}},
      Forest{.rows = {{.name = "r", .value = 1, .low = 0, .high = 2, .color = kModel}}}, heatmap};
  for (const Figure& figure : figures) {
    const Picture picture = picture_of(figure);
    EXPECT_GT(picture.count(series_color(kModel)), 60);
    for (const Index other : {0, 1, 3, 4, 5}) EXPECT_EQ(picture.count(series_color(other)), 0);
  }
}

TEST(Bars, FillsOfOneColorDiffer) {
  Bars bars{.groups = {"g"}, .series = {{.name = "m", .bars = {{1}}, .color = 0}}};
  const Index solid = picture_of(bars).count(series_color(0));
  bars.series[0].fill = Fill::kHatched;
  const Index hatched = picture_of(bars).count(series_color(0));
  bars.series[0].fill = Fill::kPale;
  const Index pale = picture_of(bars).count(series_color(0));
  EXPECT_GT(solid, 2 * hatched);
  EXPECT_GT(hatched, pale) << "of a pale bar the outline alone has the full colour";
  EXPECT_GT(pale, 0);
}

TEST(Bars, OddBarsAreDrawn) {
  for (const Bars& bars :
       {Bars{.groups = {"none"}}, Bars{.groups = {"nan"}, .series = {{"s", {{}}}}},
        Bars{.groups = {"zero"}, .series = {{"s", {{0, 0, 0, 0}}}}},
        Bars{.labels = ValueLabels::kShown, .groups = {"negative"}, .series = {{"s", {{-5, -6, -4}}}}}}) {
    EXPECT_FALSE(render_figure(bars, FigureFormat::kPdf).empty());
  }
}

TEST(Bars, SizesThatDisagreeAreNamed) {
  const Bars bars{.title = "B", .groups = {"a", "b"}, .series = {{"s", {{1}}}}};
  EXPECT_EQ(error_of([&] { render_figure(bars, FigureFormat::kSvg); }),
            "bars \"B\", series \"s\": 1 bars, expected 2");
}

TEST(Figure, AnyBytesCanBeALabel) {
  const std::vector<std::string> labels = {
      kScripts, "\xff\xfe broken",     std::string("nul\0l", 5), "\n", "\t\x01", " ", "a\nb\nc", "‏",
      "𝒳",      std::string(5000, 'x')};
  Heatmap heatmap = one_panel(1, std::ssize(labels), std::vector<float>(labels.size()));
  heatmap.column_axis.labels = labels;
  for (std::size_t i = 0; i < labels.size(); ++i)
    heatmap.panels[0].labels.push_back({static_cast<Index>(i), labels[i], 1});
  EXPECT_FALSE(render_figure(heatmap, FigureFormat::kPdf).empty());
}

TEST(Canvas, ScriptsHaveGlyphs) {
  const Canvas canvas(Medium::kNone, {});
  EXPECT_GT(canvas.measure("東京", {}).width, 1.5 * kTextSize);
  EXPECT_EQ(canvas.measure("東京", {}).height, canvas.measure("ab", {}).height) << "one line height for all";
  EXPECT_EQ(canvas.measure("", {}).width, 0);
  EXPECT_GT(canvas.measure("\n", {}).width, 0) << "a token of white space is made visible";
  EXPECT_LE(canvas.measure(std::string(500, 'x'), {.max_width = 50}).width, 51);
}

TEST(SaveFigure, WritesFourFilesAndReturnsTheSvg) {
  const TempDir dir;
  const std::string svg = save_figure(full_bars(), dir / "em.at.1", "group,em\na,1\n");
  EXPECT_EQ(read_file(dir / "em.at.1.svg"), svg);
  EXPECT_EQ(read_file(dir / "em.at.1.csv"), "group,em\na,1\n");
  EXPECT_EQ(read_file(dir / "em.at.1.pdf"), render_figure(full_bars(), FigureFormat::kPdf));
  EXPECT_EQ(read_file(dir / "em.at.1.png"), render_figure(full_bars(), FigureFormat::kPng));
  EXPECT_EQ(dir.file_count(), 4);
}

TEST(SaveFigure, WritesTheFormatsThatAreAskedFor) {
  const TempDir dir;
  const FigureFormat pdf[] = {FigureFormat::kPdf};
  EXPECT_EQ(save_figure(full_bars(), dir / "em", "a\n", pdf), render_figure(full_bars(), FigureFormat::kSvg));
  EXPECT_TRUE(fs::exists(dir / "em.pdf"));
  EXPECT_TRUE(fs::exists(dir / "em.csv"));
  EXPECT_EQ(dir.file_count(), 2);
  EXPECT_EQ(parse_figure_format("png"), FigureFormat::kPng);
  EXPECT_EQ(parse_figure_format("gif"), std::nullopt);
}

TEST(SaveFigure, APlaceThatCannotBeWrittenIsNamedAndLeftAlone) {
  const TempDir dir;
  EXPECT_EQ(error_of([&] { save_figure(full_bars(), dir / "no/em", ""); }),
            (dir / "no/em.pdf").string() + ": cannot write: No such file or directory");
  fs::create_directory(dir / "em.png");
  EXPECT_EQ(error_of([&] { save_figure(full_bars(), dir / "em", ""); }),
            (dir / "em.png").string() + ": cannot write: is a directory");
  EXPECT_EQ(dir.file_count(), 1) << "neither the PDF nor the SVG before it stays";
  {
    const FileSizeLimit limit(1000);
    EXPECT_NE(error_of([&] { save_figure(full_bars(), dir / "large", ""); }).find("large.pdf: cannot write"),
              std::string::npos);
  }
  EXPECT_EQ(dir.file_count(), 1);
}

TEST(FigureDeathTest, WithoutAnyFontAnErrorSaysSo) {
  GTEST_FLAG_SET(death_test_style,
                 "threadsafe");  // a new process, where fontconfig has not looked around yet
  EXPECT_EXIT(
      {
        const TempDir dir;
        write_file_atomically(dir / "fonts.conf", "<?xml version=\"1.0\"?><fontconfig></fontconfig>");
        ::setenv("FONTCONFIG_FILE", (dir / "fonts.conf").c_str(), 1);
        const std::string message = error_of([] { render_figure(full_bars(), FigureFormat::kSvg); });
        std::fputs(message.c_str(), stderr);
        std::_Exit(fonts_present() ? 1 : 3);
      },
      testing::ExitedWithCode(3), "no font is installed");
}

}  // namespace
}  // namespace buoy
