// Ticks, ranges, thinning and decluttering; colours.
#include "buoy/draw/layout.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "buoy/draw/theme.h"

namespace buoy {
namespace {

using Labels = std::vector<std::string>;

TEST(NiceTicks, AreRoundAndInsideTheRange) {
  EXPECT_EQ(nice_ticks({0, 1}, 6).labels, (Labels{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(nice_ticks({-3, 12}, 4).labels, (Labels{"0", "5", "10"}));
  EXPECT_EQ(nice_ticks({0, 90}, 4).labels, (Labels{"0", "25", "50", "75"}));
  EXPECT_EQ(nice_ticks({-0.12, 0.12}, 5).labels, (Labels{"−0.10", "−0.05", "0.00", "0.05", "0.10"}));
}

TEST(NiceTicks, AreNeverMoreThanAskedFor) {
  for (const double low : {-1e3, -3.7, 0.0, 1e-7, 0.3, 41.0}) {
    for (const double span : {1e-5, 3e-4, 0.7, 1.0, 12.5, 1e5}) {
      for (const Index most : {2, 3, 5, 9}) {
        const Ticks ticks = nice_ticks({low, low + span}, most);
        EXPECT_LE(std::ssize(ticks.at), most);
        EXPECT_EQ(ticks.at.size(), ticks.labels.size());
        for (const double at : ticks.at) {
          EXPECT_GE(at, low - span * 1e-6);
          EXPECT_LE(at, low + span * (1 + 1e-6));
        }
      }
    }
  }
}

TEST(NiceTicks, WholeStepsGiveWholeNumbers) {
  EXPECT_EQ(nice_ticks({0, 2}, 9, TickStep::kWhole).labels, (Labels{"0", "1", "2"}));
  EXPECT_EQ(nice_ticks({0, 10}, 5, TickStep::kWhole).labels, (Labels{"0", "5", "10"}));
}

TEST(NiceTicks, AnEmptyRangeHasOneTick) {
  EXPECT_EQ(nice_ticks({3, 3}, 5).labels, Labels{"3"});
}

TEST(LogTicks, ArePowersOfTenThinnedToFit) {
  EXPECT_EQ(log_ticks({0.0009, 12}, 6).labels, (Labels{"10⁻³", "10⁻²", "10⁻¹", "10⁰", "10¹"}));
  EXPECT_EQ(log_ticks({1e-6, 1}, 4).labels, (Labels{"10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"}));
  EXPECT_EQ(log_ticks({2, 5}, 4).labels, (Labels{"2", "3", "4", "5"}));
}

TEST(FormatNumber, HasATrueMinusAndNoNegativeZero) {
  EXPECT_EQ(format_number(-1.5, 1), "−1.5");
  EXPECT_EQ(format_number(-0.001, 1), "0.0");
  EXPECT_EQ(format_number(0, 0), "0");
  EXPECT_EQ(format_number(0.00001, 2), "1e−05");
}

TEST(Ranges, AreNeverEmptyOncePadded) {
  EXPECT_EQ(padded(extent_of({}), 0.1).low, 0);
  EXPECT_EQ(padded(extent_of({}), 0.1).high, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double one[] = {nan, 4, nan};
  const Range range = padded(extent_of(one), 0.1);
  EXPECT_LT(range.low, 4);
  EXPECT_GT(range.high, 4);
}

TEST(ThinEvenly, KeepsRoundNumbersThatHaveRoom) {
  EXPECT_EQ(thin_evenly(5, 0, 10, 9), (std::vector<Index>{0, 1, 2, 3, 4}));
  EXPECT_EQ(thin_evenly(6, 0, 10, 15), (std::vector<Index>{0, 2, 4}));
  EXPECT_EQ(thin_evenly(12, 3, 2, 9), (std::vector<Index>{2, 7}));  // numbers 5 and 10
  EXPECT_EQ(thin_evenly(1, 7, 1, 100), (std::vector<Index>{0}));
  EXPECT_TRUE(thin_evenly(0, 0, 1, 1).empty());
}

TEST(ThinEvenly, LeavesNoTwoLabelsTooClose) {
  for (const double pitch : {0.3, 1.1, 7.0}) {
    const std::vector<Index> shown = thin_evenly(400, 0, pitch, 15);
    for (std::size_t i = 1; i < shown.size(); ++i) {
      EXPECT_GE(static_cast<double>(shown[i] - shown[i - 1]) * pitch, 15 - 1e-9);
    }
  }
}

TEST(Declutter, LeavesLabelsThatDoNotTouch) {
  const Wish wishes[] = {{.at = 10, .size = 8}, {.at = 30, .size = 8}};
  const auto placed = declutter(wishes, 0, 100);
  EXPECT_DOUBLE_EQ(placed[0].value(), 10);
  EXPECT_DOUBLE_EQ(placed[1].value(), 30);
}

// Least squares of two labels of size 10 that both want 50: they share the way.
TEST(Declutter, MovesLabelsAsLittleAsPossible) {
  const Wish wishes[] = {{.at = 50, .size = 10}, {.at = 50, .size = 10}, {.at = 2, .size = 10}};
  const auto placed = declutter(wishes, 0, 100);
  EXPECT_DOUBLE_EQ(placed[0].value(), 45);
  EXPECT_DOUBLE_EQ(placed[1].value(), 55);
  EXPECT_DOUBLE_EQ(placed[2].value(), 5) << "kept inside";
}

TEST(Declutter, LeavesOutTheLightest) {
  const Wish wishes[] = {{.at = 1, .size = 6, .weight = 3},
                         {.at = 2, .size = 6, .weight = 1},
                         {.at = 3, .size = 6, .weight = 2}};
  const auto placed = declutter(wishes, 0, 12);
  EXPECT_TRUE(placed[0] && placed[2]);
  EXPECT_FALSE(placed[1]);
}

TEST(Declutter, NeverOverlapsAndKeepsTheOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<Wish> wishes;
    for (std::uint64_t i = 0; i < 12; ++i) {
      const auto hash = [&](std::uint64_t k) {
        return static_cast<double>((seed * 7919 + i * 104729 + k * 31) * 2654435761U % 1000);
      };
      wishes.push_back({.at = hash(1) / 5, .size = 5 + hash(2) / 50, .weight = hash(3)});
    }
    const auto placed = declutter(wishes, 0, 200);
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      if (!placed[i]) continue;
      EXPECT_GE(*placed[i] - wishes[i].size / 2, -1e-9);
      EXPECT_LE(*placed[i] + wishes[i].size / 2, 200 + 1e-9);
      for (std::size_t k = 0; k < wishes.size(); ++k) {
        if (k == i || !placed[k]) continue;
        EXPECT_GE(std::abs(*placed[i] - *placed[k]), (wishes[i].size + wishes[k].size) / 2 - 1e-9);
        if (wishes[i].at < wishes[k].at) {
          EXPECT_LT(*placed[i], *placed[k]);
        }
      }
    }
  }
}

TEST(ColorMap, SequentialMapsChangeLightnessOneWay) {
  for (const ColorMap map : {ColorMap::kViridis, ColorMap::kTide}) {
    const double sign = map == ColorMap::kViridis ? 1 : -1;
    for (int i = 0; i < 100; ++i) {
      EXPECT_GT(sign * (luminance(map_color(map, (i + 1) / 100.0)) - luminance(map_color(map, i / 100.0))), 0)
          << i;
    }
  }
}

TEST(ColorMap, DivergingIsLightestInTheMiddle) {
  const double middle = luminance(map_color(ColorMap::kDiverging, 0.5));
  EXPECT_GT(middle, 0.9);
  EXPECT_LT(luminance(map_color(ColorMap::kDiverging, 0)), 0.2);
  EXPECT_LT(luminance(map_color(ColorMap::kDiverging, 1)), 0.2);
  EXPECT_EQ(map_color(ColorMap::kDiverging, -3), map_color(ColorMap::kDiverging, 0));
}

// WCAG asks for 4.5; ink and white meet near 4 on the middle tones, which no choice of the two can better.
TEST(InkOn, IsReadableOnEveryColorOfEveryMap) {
  for (const ColorMap map : {ColorMap::kViridis, ColorMap::kTide, ColorMap::kDiverging}) {
    for (int i = 0; i <= 100; ++i) {
      const Color background = map_color(map, i / 100.0);
      const double a = luminance(background), b = luminance(ink_on(background, map));
      EXPECT_GT((std::max(a, b) + 0.05) / (std::min(a, b) + 0.05), 3.9) << i;
    }
  }
}

double contrast(Color a, Color b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

const ThemeColor& themed(std::string_view name) {
  return *std::ranges::find(theme_colors(), name, &ThemeColor::name);
}

// A page finds a colour's name by its value.
TEST(Theme, NoTwoColorsAreAlike) {
  std::vector<Color> seen = {kInkOnCells, kWhiteOnCells};
  for (const ThemeColor& c : theme_colors()) {
    EXPECT_EQ(std::ranges::find(seen, c.light), seen.end()) << c.name;
    seen.push_back(c.light);
  }
}

TEST(Theme, EverySeriesHasADarkColorThatCanBeSeen) {
  for (Index i = 0; i < kSeriesColorCount; ++i) {
    const ThemeColor& c = themed("s" + std::to_string(i));
    EXPECT_EQ(c.light, series_color(i));
    EXPECT_GT(contrast(c.dark, themed("paper").dark), 3) << c.name << ": what WCAG asks of graphics";
  }
  for (const char* text : {"ink", "soft"})
    EXPECT_GT(contrast(themed(text).dark, themed("paper").dark), 4.5) << text;
}

}  // namespace
}  // namespace buoy
