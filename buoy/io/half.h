// Widens 16-bit floats to 32 bits, exactly.
#pragma once

#include <bit>
#include <cstdint>

namespace buoy {

inline float widen_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

inline float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = (std::uint32_t{bits} & 0x8000U) << 16;
  const std::uint32_t exponent = (std::uint32_t{bits} >> 10) & 0x1FU;
  const std::uint32_t mantissa = std::uint32_t{bits} & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign == 0 ? magnitude : -magnitude;
  }
  const std::uint32_t wide_exponent = exponent == 0x1FU ? 0xFFU : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide_exponent << 23) | (mantissa << 13));
}

}  // namespace buoy
