// Descriptions of matrices for Hopper's copy engine.
#pragma once

#include "compute/tensor.h"

namespace buoy::cuda {

// What the engine must know of one sequence's q, k and v: it copies boxes of kBoxRows rows by kBoxColumns columns of
// bf16, in the layout of panels (wgmma.cuh), and fills up with zeros past the last row.
inline constexpr int kBoxRows = 128, kBoxColumns = 64;
struct alignas(64) TensorMap {
  std::byte opaque[128];
};
struct SequenceMaps {
  TensorMap q, k, v;
};

// Throws Error when the driver has no such engine.
TensorMap describe_for_copies(const Tensor& tensor);

}  // namespace buoy::cuda
