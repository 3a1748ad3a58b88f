#include "buoy/io/tensor_view.h"

namespace buoy {

std::optional<Index> byte_count(const Shape& shape, Index element_size) {
  Index elements = 1;
  for (const Index extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(elements, extent, &elements)) return std::nullopt;
  }
  Index bytes = 0;
  if (__builtin_mul_overflow(elements, element_size, &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace buoy
