// Sizes, element types and shapes that every room shares.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace buoy {

using Index = std::int64_t;
using TokenId = std::int32_t;

enum class DType { kF32, kF16, kBf16, kF64, kI32, kI64, kU8, kI8, kI16, kBool };

using Shape = std::vector<Index>;

// Bytes of one element.
Index size_of(DType dtype);

// "float32", "bfloat16", …: the names PyTorch and NumPy users know.
std::string_view name_of(DType dtype);

// Product of the extents; 1 for a 0-d shape. Throws Error when an extent is negative or the product
// overflows.
Index element_count(const Shape& shape);

// "[4096,512]".
std::string to_string(const Shape& shape);

}  // namespace buoy
