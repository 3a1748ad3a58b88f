// What the kernels of a layer of experts know. All pointers are the card's; activations and weights are bf16.
#pragma once

#include <cuda_runtime_api.h>

#include "buoy/compute/routing.h"

namespace buoy::cuda {

struct TensorMap;  // hopper/tensor_map.h

// Limits of the routing kernel: a warp holds a row's groups and chosen experts one to a lane.
inline constexpr int kMostExperts = 1024, kMostActive = 32, kMostGroups = 32;

struct ExpertWeights {
  const void *gate_up, *down;  // [2F, E], [E, F]
};

// A row and one of its experts are a pair. Pairs are brought into the order of experts: those of one expert
// have neighbouring slots. A tile is a number of slots that are worked on together.
struct ExpertTile {
  int expert;
  int first, rows;           // slots
  int own_first, own_count;  // the expert's tiles
};

struct ExpertView {
  Index rows;
  int count, E, F, tile_rows;
  RouterRule rule;
  const float* scores;  // [rows, count]
  const float* bias;    // [count] or null
  const ExpertWeights* weights;
  // In boxes for the copy engine; Hopper's kernels only: [count, 2] of gate_up and of down, of `out` before
  // it is written, and of `gated`.
  const TensorMap *weight_maps, *gathered_map, *gated_map;
  const void* normed;  // [rows, E]

  // Best first, as a Routing is.
  std::int32_t* experts;  // [rows, active]
  float* chosen;          // [rows, active], their weights

  // By the number of the expert.
  int* pair_expert;    // [rows, active]
  float* pair_weight;  // [rows, active]
  int* pair_slot;      // [rows, active]; before arrange(): the place among the expert's own

  int* counts;        // [count], pairs of each expert
  int* slot_row;      // [pairs]
  ExpertTile* tiles;  // [most_tiles()]
  int* tile_count;
  void* gated;  // [pairs, F]
  void* out;    // [pairs, E]; first gather_experts()' copies of the rows
  float* x;     // [rows, E], float32
  Index x_stride;

  Index pairs() const { return rows * rule.active; }
  // Each expert may have one tile that is not full.
  Index most_tiles() const { return pairs() / tile_rows + (pairs() < count ? pairs() : count); }
};

// Chooses the experts of every row (compute/routing.h) and brings the pairs into order.
void route_experts(const ExpertView& view, cudaStream_t stream);

// silu(gate)·up of every slot, then its way down. For any sizes that are multiples of 8.
void run_mma_experts(const ExpertView& view, cudaStream_t stream);
inline constexpr int kMmaTileRows = 64;

// The same with Hopper's own instructions; F is a multiple of 64.
void run_hopper_experts(const ExpertView& view, cudaStream_t stream);
inline constexpr int kHopperTileRows = 128, kWeightBoxRows = 64;

// Copies rows of `normed` to their slots in `out`, which is free until the way down.
void gather_experts(const ExpertView& view, cudaStream_t stream);

// x += Σ weight·out, a row's experts in the order of their numbers.
void combine_experts(const ExpertView& view, cudaStream_t stream);

}  // namespace buoy::cuda
