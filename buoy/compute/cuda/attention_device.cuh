// What the attention kernels share: which keys a query sees, scores in units of log 2, launch helpers.
#pragma once

#include "buoy/compute/cuda/attention_params.h"
#include "buoy/compute/cuda/device.h"
#include "buoy/compute/cuda/elements.cuh"

namespace buoy::cuda {

inline constexpr float kLog2E = 1.4426950408889634f;
inline constexpr float kInfinity = __builtin_huge_valf();

__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Keys [0, visible) of query t: what Mask::visible_keys() says. Unsigned, so that nothing overflows.
__device__ inline int visible_keys(const SequenceView& s, int t) {
  if (s.block == 0) return s.N;
  const unsigned size = s.block, at = s.first_position + t + s.offset;
  return static_cast<int>(min(static_cast<unsigned>(s.N), (at / size + 1) * size - s.offset));
}

// The first position whose query sees key j: what Mask::first_position_seeing() says.
__device__ inline int first_position_seeing(const SequenceView& s, int j) {
  if (s.block == 0) return 0;
  const unsigned size = s.block;
  return max(0, static_cast<int>((j + s.offset) / size * size) - s.offset);
}

// The first key that no position before `position` sees: the first of a block.
__device__ inline int first_key_from(const SequenceView& s, int position) {
  const unsigned size = s.block, at = position + s.offset;
  return position == 0 ? 0 : static_cast<int>((at + size - 1) / size * size) - s.offset;
}

// Added to a score, in units of log 2.
__device__ inline float bias_of(const SequenceView& s, int h, int j) {
  return s.key_bias == nullptr ? 0.0f : s.key_bias[static_cast<Index>(h) * s.bias_stride + j] * kLog2E;
}

__device__ inline float score_scale(const AttentionView& view) {
  return view.factor * kLog2E / sqrtf(static_cast<float>(view.D));
}

template <typename T>
__device__ const T* head_of(const void* tensor, int head, int D) {
  return static_cast<const T*>(tensor) + static_cast<Index>(head) * D;
}

// A row's log-sum-exp, where pass 2 and the row kernels look for it.
__device__ inline void store_lse(const SequenceView& s, int h, int t, float lse) {
  if (s.lse == nullptr) return;
  s.lse[static_cast<Index>(h) * s.T + t] = lse;
  if (s.place == nullptr) return;
  const int place = s.place[t];
  if (place >= 0) s.ordered_lse[static_cast<Index>(h) * s.block_count * kQueryBlock + place] = lse;
}

// A kernel may use more than 48 KB of a multiprocessor's memory only after asking.
template <class Kernel>
void allow_shared(Kernel* kernel, int bytes) {
  if (bytes <= 48 * 1024) return;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "reserve shared memory");
}

}  // namespace buoy::cuda
