#include "buoy/compute/mask.h"

#include "buoy/base/error.h"

namespace buoy {

Mask Mask::blocks(Index size, Index offset) {
  check(size >= 1 && offset >= 0, "blocks have positions and begin no later than the sequence");
  return {size, offset % size};
}

std::string name_of(const Mask& mask) {
  if (mask == Mask::kFull) return "full";
  if (mask == Mask::kCausal) return "causal";
  const std::string name = "blocks of " + std::to_string(mask.block());
  return mask.offset() == 0 ? name : name + ", the first " + std::to_string(mask.offset()) + " short";
}

}  // namespace buoy
