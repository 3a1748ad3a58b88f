// Figures in a page: colours by name, parts with names of their own, letters shared, nothing else changed.
#include "buoy/draw/inline_svg.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/draw/test_support.h"

namespace buoy {
namespace {

Index count(std::string_view text, std::string_view part) {
  Index found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// What stands between each `before` and the next quote.
std::vector<std::string> values_of(std::string_view text, std::string_view before) {
  std::vector<std::string> values;
  for (std::size_t at = text.find(before); at != std::string_view::npos; at = text.find(before, at + 1)) {
    const std::size_t begin = at + before.size();
    values.emplace_back(text.substr(begin, text.find_first_of("\")", begin) - begin));
  }
  return values;
}

std::string svg_of(const Figure& figure) {
  return render_figure(figure, FigureFormat::kSvg);
}

Bars named_bars(std::string name, Index color) {
  return {.groups = {std::move(name)}, .series = {{.name = "s", .bars = {{1}}, .color = color}}};
}

TEST(InlineFigures, ColorsOfTheThemeAreNamesAndOthersStay) {
  InlineFigures figures;
  const std::string bars = figures.add(svg_of(named_bars("group", 3)), "bars");
  EXPECT_GT(count(bars, "var(--fig-s3)"), 0);
  EXPECT_GT(count(bars, "var(--fig-ink)"), 0);
  EXPECT_GT(count(bars, "var(--fig-paper)"), 0);
  EXPECT_EQ(count(bars, "rgb("), 0);
  Curves ordered{.palette = Palette::kOrdered,
                 .panels = {{.series = {{.name = "a", .x = {0, 1}, .y = {0, 1}}}}}};
  EXPECT_GT(count(figures.add(svg_of(ordered), ""), "#440154"), 0)
      << "the first colour of viridis, no theme's";
}

TEST(InlineFigures, EveryNameThatIsUsedIsDefinedOnce) {
  InlineFigures figures;
  Heatmap map = one_panel(2, 2, {0, 1, kNan, 0.5});
  map.panels[0].hatched = {1, 0, 0, 0};
  std::string page = figures.add(svg_of(map), "one") + figures.add(svg_of(map), "two");
  page += figures.definitions();
  std::set<std::string> ids;
  for (const std::string& id : values_of(page, " id=\"")) EXPECT_TRUE(ids.insert(id).second) << id;
  for (const char* use : {"href=\"#", "url(#"}) {
    for (const std::string& id : values_of(page, use)) EXPECT_TRUE(ids.contains(id)) << id;
  }
}

TEST(InlineFigures, LettersAreHeldOnce) {
  InlineFigures figures;
  const std::string one = figures.add(svg_of(named_bars("letters", 0)), "");
  const std::size_t once = figures.definitions().size();
  const std::string two = figures.add(svg_of(named_bars("letters", 1)), "");
  EXPECT_EQ(figures.definitions().size(), once);
  EXPECT_EQ(count(one, "<symbol") + count(two, "<symbol"), 0);
  figures.add(svg_of(named_bars("ψ", 1)), "");
  EXPECT_GT(figures.definitions().size(), once);
}

// As Cairo 1.16 and 1.18 write the same letter; a group of anything else stays where it is.
TEST(InlineFigures, LettersAreFoundHoweverCairoWritesThem) {
  constexpr std::string_view kHead = "<svg viewBox=\"0 0 1 1\">\n<defs>\n<g>\n";
  const std::string use = "<use xlink:href=\"#n0\" x=\"1\" y=\"2\"/>\n</svg>";
  InlineFigures figures;
  const std::string older = figures.add(
      fmt::format("{}<symbol overflow=\"visible\" id=\"n0\">\n<path style=\"stroke:none;\" d=\"M 1 2 \"/>\n"
                  "</symbol>\n</g>\n</defs>\n{}",
                  kHead, use),
      "");
  const std::string newer = figures.add(
      fmt::format("{}<g id=\"n0\">\n<path d=\"M 1.001 2 \"/>\n</g>\n</g>\n</defs>\n{}", kHead, use), "");
  EXPECT_EQ(older, newer);
  EXPECT_EQ(count(newer, "href=\"#g0\""), 1);
  const std::string other = figures.add(
      fmt::format("{}<g id=\"n0\">\n<path d=\"M 1 2 \"/>\n<path d=\"M 3 4 \"/>\n</g>\n</g>\n</defs>\n{}",
                  kHead, use),
      "");
  EXPECT_EQ(count(other, "<g id=\"f2-n0\"><path d=\"M 1 2 \"/><path d=\"M 3 4 \"/></g>"), 1) << other;
  EXPECT_EQ(count(figures.definitions(), "<path"), 1);
}

TEST(InlineFigures, AreLabelledAndHaveNoSizeOfTheirOwn) {
  InlineFigures figures;
  EXPECT_EQ(figures.definitions(), "");
  const std::string svg = svg_of(named_bars("g", 0));
  const std::string inlined = figures.add(svg, "what it shows");
  EXPECT_TRUE(
      inlined.starts_with("<svg class=\"fig\" role=\"img\" aria-label=\"what it shows\" viewBox=\"0 0 "));
  EXPECT_TRUE(inlined.ends_with("</svg>\n"));
  EXPECT_EQ(svg_width(svg), kColumnWidth);
  EXPECT_EQ(svg_width("no figure"), 0);
}

// Of two maps the one for white paper is turned in the dark, with its colour bar.
TEST(InlineFigures, CellsForWhitePaperAreTurnedInTheDark) {
  InlineFigures figures;
  Heatmap map = one_panel(2, 2, {0, 1, 0.2F, 0.5});
  map.color.map = ColorMap::kViridis;
  EXPECT_EQ(count(figures.add(svg_of(map), ""), "class=\"turned\""), 0);
  map.color.map = ColorMap::kTide;
  EXPECT_EQ(count(figures.add(svg_of(map), ""), "class=\"turned\""), 2);
  EXPECT_EQ(count(figures.definitions(), "<filter id=\"turn\""), 1);
}

TEST(InlineFigures, LightAndDarkNameTheSameColors) {
  const auto names = [](const std::string& css) { return values_of(css, "--fig-").size(); };
  EXPECT_EQ(names(figure_colors_css_light()), theme_colors().size());
  EXPECT_EQ(names(figure_colors_css_dark()), theme_colors().size());
  EXPECT_GT(count(figure_colors_css_light(), "--fig-paper:#ffffff;"), 0);
  EXPECT_GT(count(figure_colors_css_dark(), "--fig-paper:#14171c;"), 0);
}

}  // namespace
}  // namespace buoy
