// What the kernels of state space mixers know of a sequence (compute/ssd.h says what is computed). All
// pointers are the card's; inputs and outputs are float32 or bf16.
#pragma once

#include <cuda_runtime_api.h>

#include "buoy/compute/attention.h"

namespace buoy::cuda {

// Rows of a chunk: inside it M is written out, between chunks a state is carried.
inline constexpr int kSsdChunk = 64;

inline constexpr int kForward = 0, kBackward = 1;

// One direction of every head. Decay from j to i is exp(reach[j] − reach[i]).
struct SsdLanes {
  float* step;    // [H, N] Δ as it is read by others: 0 where the key is hidden
  double* reach;  // [H, N + 1]
};

struct SsdSequence {
  const void *reads, *keys, *values, *gates;  // C [N, H·n], B [N, H·n], v [N, H·P], [N, 3·H]
  void* out;                                  // [N, H·P]
  Index reads_stride, keys_stride, values_stride, gates_stride, out_stride;  // elements
  int N, chunks;
  Implicit implicit;
  const float* key_bias;   // or null
  int bias_stride;         // from head to head: N, or 0
  const float* head_gain;  // [H] or null

  SsdLanes lanes[2];
  float* diagonal;  // [H, N] D; NaN for every row of a head with a gate that is not finite
  float* states;    // [2, H, chunks, n·P] what a chunk writes, then what arrives at it
  double* carries;  // [2, H, chunks] decay over a whole chunk

  // When anything is measured.
  float* output_norms;  // [H, N] ‖y‖ before gain, or null
  double* energy;    // [H, N] ρ, the sum of a row's squares; null, with the next: no columns are asked for
  double* matrices;  // [2, H, chunks, n·n] of the energies first, then of the rows of one slot
  // Which sum of columns a row adds to, -1: none. The first slots are the groups of queries; where means are
  // asked for, rows without a group have a slot of their own.
  const signed char* slots;     // [N]
  int slot_count, slot_groups;  // of them groups of queries: the first
  float* column_sums;           // [H, groups, N] or null
  // Of all slots together, added up slot by slot; null without means.
  double *received, *reached;  // [H, N] Σ_i M_ij²/ρ_i, Σ_i≠j ‖C_i‖²/ρ_i·Δ²·decay²
  double* queries;             // [H] Σ_i ‖C_i‖²/ρ_i
  float *score_means, *cosine_means, *norm_means, *recency_means, *key_norms;  // [H, N]

  // Rows that are looked at closely.
  const int* rows;  // [R]
  int R;
  const signed char* key_groups;  // [N] or null
  int key_group_count;
  int* argmax;                  // [H, R], or null with the next two
  float *max_weight, *entropy;  // [H, R]
  float* key_mass;              // [H, R, key_group_count] or null
  float* matrix;                // [H, R, N] or null

  // Columns of |M|: sums of rows, and which group of queries a row adds to.
  double* magnitudes;               // [H, N] or null
  const signed char* query_groups;  // [N]
  int group_count;
};

// A batch of sequences of one layer. Grids cover the largest; smaller ones leave early.
struct SsdView {
  const SsdSequence* sequences;  // [count], on the card
  int count;
  int H, n, P;
  DType type, gates_type;               // of reads, keys, values and out; of the gates
  const float *dt_bias, *a_log, *skip;  // [2·H], [2·H], [H]
  int most_rows, most_chunks, most_asked, most_slots, most_groups;
};

// Gates → steps, reaches and diagonals; then outputs by a scan over chunks, with the rows' energies where
// asked for.
void run_ssd_scan(const SsdView& view, cudaStream_t stream);

// Parts of the two: what chunks write, carried in the direction in which it is read; of rows that read,
// against it.
void carry_states(const SsdView& view, cudaStream_t stream);
void carry_rows(const SsdView& view, cudaStream_t stream);

// Column sums of energies slot by slot, and the means of qk_means.
void run_ssd_columns(const SsdView& view, cudaStream_t stream);

// Row statistics and whole rows.
void run_ssd_rows(const SsdView& view, cudaStream_t stream);

// Column sums of |M| by group of queries: every pair, in tiles.
void run_ssd_magnitudes(const SsdView& view, cudaStream_t stream);

// Whether a multiprocessor's memory holds what the kernels need of a shape.
bool ssd_fits(Index n, Index P);

// out[i] = silu(bias + Σ_k weight[k]·x[i + k − K/2]) within each sequence.
struct ConvolveArgs {
  const void* x;
  void* out;
  DType type;
  Index x_stride, out_stride, cols, K;
  const float *weight, *bias;  // [K, cols], [cols]
  const Index* starts;         // [count + 1] first rows, and the end
  Index count, longest;
};
void convolve_rows(const ConvolveArgs& args, cudaStream_t stream);

}  // namespace buoy::cuda
