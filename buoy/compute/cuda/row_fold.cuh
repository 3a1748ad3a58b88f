// One warp folds a row of scores into its statistics, tile by tile: shared by the kernels that score rows.
#pragma once

#include "buoy/compute/cuda/attention_device.cuh"

namespace buoy::cuda {

struct RowFold {
  const SequenceView& s;
  int h, number, seen;  // which of s.rows; the keys it sees
  float lse;
  float best = -kInfinity, entropy = 0;  // in units of log 2
  int best_key = -1;
  float mass = 0;  // of key group `lane`

  // A number past the last one folds the first row again and writes nothing.
  __device__ RowFold(const AttentionView& view, const SequenceView& sequence, int head, int row_number)
      : s(sequence), h(head), number(row_number) {
    const int row = s.rows[number < s.R ? number : 0];
    seen = visible_keys(s, row);
    lse = s.lse[static_cast<Index>(h) * s.T + row];
  }

  // Scores of keys first.. in units of log 2, kCount of them; they become weights. `groups`: their key
  // groups.
  template <int kCount>
  __device__ void take(float* scores, int first, const signed char* groups) {
    const int lane = threadIdx.x % 32;
#pragma unroll 4
    for (int i = lane; i < kCount; i += 32) {
      const float score = first + i < seen ? scores[i] : -kInfinity;
      if (score > best) best = score, best_key = first + i;
      const float weight = exp2f(score - lse);
      if (weight > 0) entropy = fmaf(weight, lse - score, entropy);
      if (s.matrix != nullptr && number < s.R && first + i < s.N) {
        s.matrix[(static_cast<Index>(h) * s.R + number) * s.N + first + i] = weight;
      }
      scores[i] = weight;
    }
    __syncwarp();
    if (s.key_mass == nullptr) return;
    for (int i = 0; i < kCount; ++i) mass += groups[i] == lane ? scores[i] : 0.0f;
  }

  __device__ void write() {
    const int lane = threadIdx.x % 32;
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(~0u, best, step);
      const int key = __shfl_xor_sync(~0u, best_key, step);
      if (other > best || (other == best && key >= 0 && key < best_key)) best = other, best_key = key;
    }
    entropy = warp_sum(entropy);
    if (number >= s.R || s.argmax == nullptr) return;
    const Index at = static_cast<Index>(h) * s.R + number;
    if (s.key_mass != nullptr && lane < s.key_group_count) s.key_mass[at * s.key_group_count + lane] = mass;
    if (lane != 0) return;
    s.argmax[at] = best_key;
    s.max_weight[at] = best_key < 0 ? 0.0f : exp2f(best - lse);
    s.entropy[at] = entropy / kLog2E;
  }
};

}  // namespace buoy::cuda
