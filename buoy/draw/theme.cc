#include "buoy/draw/theme.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace buoy {
namespace {

constexpr std::array<Color, kSeriesColorCount> kSeriesColors = {rgb(0x0072B2), rgb(0xD55E00), rgb(0x009E73),
                                                                rgb(0xCC79A7), rgb(0xE69F00), rgb(0x56B4E9)};

// On the dark paper every series keeps its hue and is light enough to be seen (WCAG: 3 to 1 for graphics).
constexpr std::array kThemeColors = {
    ThemeColor{"s0", kSeriesColors[0], rgb(0x4FA8DE)}, ThemeColor{"s1", kSeriesColors[1], rgb(0xF0843A)},
    ThemeColor{"s2", kSeriesColors[2], rgb(0x2FC39A)}, ThemeColor{"s3", kSeriesColors[3], rgb(0xDB93BB)},
    ThemeColor{"s4", kSeriesColors[4], rgb(0xF0B429)}, ThemeColor{"s5", kSeriesColors[5], rgb(0x8FD0F5)},
    ThemeColor{"paper", kWhite, rgb(0x14171C)},        ThemeColor{"ink", kInk, rgb(0xE4E7EC)},
    ThemeColor{"soft", kSoftInk, rgb(0xA0A8B6)},       ThemeColor{"axis", kAxisInk, rgb(0x79818E)},
    ThemeColor{"grid", kGridInk, rgb(0x2B313A)},       ThemeColor{"blank", kBlank, rgb(0x2A2F38)},
    ThemeColor{"band", kBandTint, rgb(0x22272F)},      ThemeColor{"shade", kBandShade, rgb(0x343B47)},
    ThemeColor{"mark", kMark, rgb(0xF0609A)},
};

// Control colours at equal distances; between them colours are mixed.
constexpr std::array kViridisColors = {rgb(0x440154), rgb(0x472D7B), rgb(0x3B528B),
                                       rgb(0x2C728E), rgb(0x21918C), rgb(0x28AE80),
                                       rgb(0x5EC962), rgb(0xADDC30), rgb(0xFDE725)};
constexpr std::array kTideColors = {rgb(0xF6F9FB), rgb(0xD9E8F0), rgb(0xACD0E1), rgb(0x78B0D0),
                                    rgb(0x4A8DBB), rgb(0x2A689F), rgb(0x17447A), rgb(0x0B2450)};
constexpr std::array kDivergingColors = {rgb(0x0B4A86), rgb(0x3A80BC), rgb(0x8CB8DD),
                                         rgb(0xD2E3F0), rgb(0xFAFAF9), rgb(0xFAE1CA),
                                         rgb(0xF3B27B), rgb(0xDD7A2A), rgb(0xA34700)};

std::span<const Color> control_colors(ColorMap map) {
  switch (map) {
    case ColorMap::kViridis:
      return kViridisColors;
    case ColorMap::kTide:
      return kTideColors;
    case ColorMap::kDiverging:
      return kDivergingColors;
  }
  return kViridisColors;
}

double linear_light(double channel) {
  return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

}  // namespace

Color mix(Color a, Color b, double t) {
  return {std::lerp(a.r, b.r, t), std::lerp(a.g, b.g, t), std::lerp(a.b, b.b, t), std::lerp(a.a, b.a, t)};
}

double luminance(Color c) {
  return 0.2126 * linear_light(c.r) + 0.7152 * linear_light(c.g) + 0.0722 * linear_light(c.b);
}

bool is_for_white(ColorMap map) {
  return map != ColorMap::kViridis;
}

Color ink_on(Color background, ColorMap map) {
  const Color ink = is_for_white(map) ? kInk : kInkOnCells,
              white = is_for_white(map) ? kWhite : kWhiteOnCells;
  const auto contrast = [](double a, double b) { return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05); };
  const double light = luminance(background);
  return contrast(light, luminance(ink)) >= contrast(light, luminance(white)) ? ink : white;
}

std::span<const ThemeColor> theme_colors() {
  return kThemeColors;
}

Color series_color(Index i) {
  return kSeriesColors.at(static_cast<std::size_t>(i));
}

Color map_color(ColorMap map, double t) {
  const std::span<const Color> colors = control_colors(map);
  const double place = std::clamp(t, 0.0, 1.0) * static_cast<double>(std::ssize(colors) - 1);
  const auto i = std::min(static_cast<std::size_t>(place), colors.size() - 2);
  return mix(colors[i], colors[i + 1], place - static_cast<double>(i));
}

}  // namespace buoy
