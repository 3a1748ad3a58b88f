// Whether every number of an array is finite, at the speed of reading it.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace buoy {

// No early end: a loop without one is done in vectors.
inline bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7f800000u;  // all ones: NaN or infinite
  std::uint32_t bad = 0;
  for (const float x : values) bad |= (std::bit_cast<std::uint32_t>(x) & kExponent) == kExponent ? 1u : 0u;
  return bad == 0;
}

}  // namespace buoy
