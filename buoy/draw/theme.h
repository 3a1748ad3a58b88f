// How figures look: sizes in points, the few colours, and the colour maps. One look for every figure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "buoy/base/types.h"

namespace buoy {

// Widths of a page of a paper.
inline constexpr double kColumnWidth = 3.25 * 72;
inline constexpr double kTextWidth = 6.75 * 72;

// Type sizes. Nothing is set smaller than kSmallSize, so that a figure stays readable at column width.
inline constexpr double kSmallSize = 6.5;  // ticks, bands, notes, numbers in cells
inline constexpr double kTextSize = 7.5;   // axis titles, legends, panel titles
inline constexpr double kTitleSize = 8.5;
inline constexpr double kLineHeight = 1.2;  // of the type size

inline constexpr double kHairline = 0.4;
inline constexpr double kThinLine = 0.6;
inline constexpr double kCurveLine = 1.3;
inline constexpr double kMargin = 4.0;  // around a figure

// sRGB, each from 0 to 1.
struct Color {
  double r = 0, g = 0, b = 0, a = 1;
  friend bool operator==(const Color&, const Color&) = default;
};

constexpr Color rgb(std::uint32_t hex) {
  return {static_cast<double>(hex >> 16 & 255) / 255, static_cast<double>(hex >> 8 & 255) / 255,
          static_cast<double>(hex & 255) / 255};
}
constexpr Color with_alpha(Color c, double a) {
  return {c.r, c.g, c.b, a};
}
// t = 0 gives a, t = 1 gives b.
Color mix(Color a, Color b, double t);
// Relative luminance of WCAG 2: 0 black, 1 white.
double luminance(Color c);

inline constexpr Color kWhite = rgb(0xFFFFFF);
inline constexpr Color kInk = rgb(0x1F2430);      // text
inline constexpr Color kSoftInk = rgb(0x5B6270);  // ticks, notes
inline constexpr Color kAxisInk = rgb(0x8A909C);
inline constexpr Color kGridInk = rgb(0xE7E9ED);
inline constexpr Color kBlank = rgb(0xE4E5E8);  // cells without a value
inline constexpr Color kBandTint = rgb(0xEEF0F4);
inline constexpr Color kBandShade = rgb(0xDFE3EA);
// Outlines and bands that the reader should find: the gold passage. Unlike every colour of a series.
inline constexpr Color kMark = rgb(0xA0195B);
// On cells that keep their colours in the dark; told apart from ink and white, which change places there.
inline constexpr Color kInkOnCells = rgb(0x20242F);
inline constexpr Color kWhiteOnCells = rgb(0xFEFEFE);

// Okabe and Ito's palette, ordered so that the first colours differ most in lightness too.
inline constexpr Index kSeriesColorCount = 6;
Color series_color(Index i);  // 0 <= i < kSeriesColorCount
// The colour of a series that asks for none.
inline constexpr Index kColorByOrder = -1;

// Every colour that lines, texts and areas are drawn in, by name: what a page in the dark shows in its place.
// Shades of them are made by transparency, never by mixing with white, so that they follow.
struct ThemeColor {
  std::string_view name;
  Color light, dark;
};
std::span<const ThemeColor> theme_colors();

// All are safe for the colour-blind: the first two change monotonically in lightness, the third is blue
// against orange.
enum class ColorMap {
  kViridis,    // dark violet (low) to yellow (high)
  kTide,       // nearly white (low) to deep blue (high): little ink on paper
  kDiverging,  // blue (low), white (middle), orange (high)
};
// The colour at t, clamped to [0, 1].
Color map_color(ColorMap map, double t);
// Whether the map is made for white paper: in the dark its light and dark ends change places.
bool is_for_white(ColorMap map);
// Ink or white, whichever is easier to read on a cell of this colour, as the map has it.
Color ink_on(Color background, ColorMap map);

}  // namespace buoy
