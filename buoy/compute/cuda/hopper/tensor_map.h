// Descriptions of matrices for Hopper's copy engine.
#pragma once

#include "buoy/compute/tensor.h"

namespace buoy::cuda {

// The engine copies boxes of some rows by kBoxColumns columns of bf16 in the layout of panels (wgmma.cuh) and
// fills up with zeros past the last row.
inline constexpr int kBoxColumns = 64;
inline constexpr int kTileRows = 128;
struct alignas(64) TensorMap {
  std::byte opaque[128];
};

// One sequence's matrices: in tiles of kTileRows, and its queries in blocks of kQueryBlock and one by one.
struct SequenceMaps {
  TensorMap q, k, v, query_block, query;
};

// A description of a bf16 tensor for boxes of `rows` rows. Throws Error when the driver has no such engine.
TensorMap describe_for_copies(const Tensor& tensor, int rows);

}  // namespace buoy::cuda
