// For the tests of this room: a heatmap in one line, text in many scripts, and the pixels of a PNG.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <cairo.h>

#include "buoy/draw/figure.h"

namespace buoy {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline const std::string kScripts = "Käse Привет Ελλάδα مرحبا שלום नमस्ते 東京 서울 😀";

inline Heatmap one_panel(Index rows, Index columns, std::vector<float> values) {
  return {.panels = {{.rows = rows, .columns = columns, .values = std::move(values)}}};
}

// Pixels of a PNG as 0xRRGGBB.
struct Picture {
  Index width = 0, height = 0;
  std::vector<std::uint32_t> pixels;
  Index count(Color color) const {
    const auto byte = [](double v) { return static_cast<std::uint32_t>(std::lround(v * 255)); };
    return std::count(pixels.begin(), pixels.end(), byte(color.r) << 16 | byte(color.g) << 8 | byte(color.b));
  }
};

inline Picture decode(std::string_view png) {
  const auto read = [](void* closure, unsigned char* data, unsigned int length) {
    auto& rest = *static_cast<std::string_view*>(closure);
    if (rest.size() < length) return CAIRO_STATUS_READ_ERROR;
    std::memcpy(data, rest.data(), length);
    rest.remove_prefix(length);
    return CAIRO_STATUS_SUCCESS;
  };
  cairo_surface_t* surface = cairo_image_surface_create_from_png_stream(read, &png);
  Picture picture{cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface), {}};
  const unsigned char* data = cairo_image_surface_get_data(surface);
  for (Index y = 0; y < picture.height; ++y) {
    const auto* row =
        reinterpret_cast<const std::uint32_t*>(data + y * cairo_image_surface_get_stride(surface));
    for (Index x = 0; x < picture.width; ++x) picture.pixels.push_back(row[x] & 0xFFFFFFU);
  }
  cairo_surface_destroy(surface);
  return picture;
}

inline Picture picture_of(const Figure& figure) {
  return decode(render_figure(figure, FigureFormat::kPng));
}

}  // namespace buoy
