// Host memory the card reads and writes by itself.
#pragma once

#include "buoy/base/types.h"
#include "buoy/compute/cuda/device.h"

namespace buoy::cuda {

class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { cudaFreeHost(data_); }
  // At least `bytes`; what was there is lost when it grows.
  std::byte* reserve(Index bytes);

 private:
  std::byte* data_ = nullptr;
  Index size_ = 0;
};

}  // namespace buoy::cuda
