#include "buoy/base/types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "buoy/base/error.h"

namespace buoy {

Index size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBf16:
    case DType::kI16:
      return 2;
    case DType::kU8:
    case DType::kI8:
    case DType::kBool:
      return 1;
  }
  check(false, "unknown DType");
  return 0;
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float32";
    case DType::kF16:
      return "float16";
    case DType::kBf16:
      return "bfloat16";
    case DType::kF64:
      return "float64";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kU8:
      return "uint8";
    case DType::kI8:
      return "int8";
    case DType::kI16:
      return "int16";
    case DType::kBool:
      return "bool";
  }
  check(false, "unknown DType");
  return "";
}

Index element_count(const Shape& shape) {
  Index count = 1;
  for (Index extent : shape) {
    if (extent < 0) fail("shape {} has a negative extent", to_string(shape));
    if (__builtin_mul_overflow(count, extent, &count)) fail("shape {} is too large", to_string(shape));
  }
  return count;
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

}  // namespace buoy
