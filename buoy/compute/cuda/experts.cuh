// Which part of a layer of experts a block works on.
#pragma once

#include "buoy/compute/cuda/elements.cuh"
#include "buoy/compute/cuda/expert_params.h"

namespace buoy::cuda {

// A tile of rows against a stretch of outputs. Blocks are numbered so that all tiles of an expert meet the
// same weights one after the other: the first reads them from memory, the others find them in the cache.
struct ExpertTask {
  ExpertTile tile;
  int stretch;
};

// False: this block has nothing to do.
__device__ inline bool find_task(const ExpertView& view, int stretches, ExpertTask& task) {
  const int number = static_cast<int>(blockIdx.x), near = number / stretches;
  if (near >= *view.tile_count) return false;
  const ExpertTile some = view.tiles[near];  // of the same expert
  const int own = number - some.own_first * stretches;
  task.stretch = own / some.own_count;
  task.tile = view.tiles[some.own_first + own % some.own_count];
  return true;
}

}  // namespace buoy::cuda
