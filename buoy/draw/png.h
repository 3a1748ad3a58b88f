// Pixels as the bytes of a PNG file.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "buoy/base/types.h"

namespace buoy {

// `rows` × `columns` pixels 0x00RRGGBB, row r beginning at pixels[r * stride]; the top byte is ignored. The
// same pixels give the same bytes. Several times faster than cairo's own, which tries every filter on every
// row: figures are flat colours, where what repeats from one row to the next is all there is to find.
std::string encode_png(std::span<const std::uint32_t> pixels, Index rows, Index columns, Index stride);

}  // namespace buoy
