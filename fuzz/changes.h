// An input read as a list of changes to something valid; past its end everything is 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>

#include "buoy/base/types.h"

namespace buoy::fuzzing {

struct Changes {
  std::span<const std::uint8_t> left;

  unsigned byte() {
    if (left.empty()) return 0;
    const unsigned first = left[0];
    left = left.subspan(1);
    return first;
  }
  std::uint64_t word() {
    std::uint64_t w = 0;
    for (int i = 0; i < 8; ++i) w = w << 8 | byte();
    return w;
  }
  // Up to 255 bytes as they are.
  std::string_view text() {
    const std::size_t size = std::min<std::size_t>(byte(), left.size());
    const std::string_view said(reinterpret_cast<const char*>(left.data()), size);
    left = left.subspan(size);
    return said;
  }
  // Mostly numbers that sizes break on.
  Index number() {
    constexpr Index kSpecial[] = {0,
                                  1,
                                  -1,
                                  2,
                                  3,
                                  7,
                                  100,
                                  255,
                                  65536,
                                  Index{1} << 31,
                                  Index{1} << 32,
                                  Index{1} << 61,
                                  Index{1} << 62,
                                  std::numeric_limits<Index>::max(),
                                  std::numeric_limits<Index>::min()};
    const unsigned b = byte();
    if (b < std::size(kSpecial)) return kSpecial[b];
    return b < 200 ? Index{b} - 100 : static_cast<Index>(word());
  }
};

}  // namespace buoy::fuzzing
