// A typed, shaped view of bytes that live elsewhere (a mapped file, an array in memory). Row-major, packed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "buoy/base/types.h"

namespace buoy {

struct TensorView {
  DType dtype = DType::kF32;
  Shape shape = {};
  std::span<const std::byte> bytes = {};  // element_count(shape) * size_of(dtype) of them; may be unaligned
};

// Bytes of a packed array whose elements take `element_size`; nothing when an extent is negative or it
// overflows.
std::optional<Index> byte_count(const Shape& shape, Index element_size);

}  // namespace buoy
