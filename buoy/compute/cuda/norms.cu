// Lengths of values, and the mean length of a head's outputs, as they are and under uniform attention.
#include "buoy/compute/cuda/attention_device.cuh"

namespace buoy::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

template <typename T>
__global__ void __launch_bounds__(kThreads) value_norms_kernel(AttentionView view) {
  const SequenceView& s = view.sequences[blockIdx.z];
  const int j = blockIdx.x * kWarps + threadIdx.x / 32, kv = blockIdx.y, lane = threadIdx.x % 32;
  if (s.value_norms == nullptr || j >= s.N) return;
  const T* v = head_of<T>(s.v, kv, view.D) + j * s.v_stride;
  float squares = 0;
  for (int d = lane; d < view.D; d += 32) squares = fmaf(widened(v[d]), widened(v[d]), squares);
  squares = warp_sum(squares);
  if (lane == 0) s.value_norms[static_cast<Index>(kv) * s.N + j] = sqrtf(squares);
}

__global__ void __launch_bounds__(kThreads) output_norm_kernel(AttentionView view) {
  __shared__ float parts[kWarps];
  const SequenceView& s = view.sequences[blockIdx.z];
  if (s.mean_output_norm == nullptr) return;
  const float* norms = s.output_norms + static_cast<Index>(blockIdx.x) * s.T;
  float sum = 0;
  for (int t = threadIdx.x; t < s.T; t += kThreads) sum += norms[t];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float total = 0;
  for (const float part : parts) total += part;
  s.mean_output_norm[blockIdx.x] = total / static_cast<float>(max(1, s.T));
}

constexpr int kMaxD = 256, kUniformThreads = 1024;

// Under a full mask every query would put out the mean of all values: threads (row, d) add up every kRows-th.
template <typename T>
__global__ void __launch_bounds__(kUniformThreads) full_uniform_kernel(AttentionView view) {
  __shared__ float sums[kUniformThreads];
  const SequenceView& s = view.sequences[blockIdx.z];
  if (s.uniform_norm == nullptr || s.block > 0) return;
  const int D = view.D, rows = kUniformThreads / D, row = threadIdx.x / D, d = threadIdx.x % D;
  const T* v = head_of<T>(s.v, blockIdx.x, D) + d;
  float sum = 0;
  if (row < rows) {
#pragma unroll 8
    for (int j = row; j < s.N; j += rows) sum += widened(v[j * s.v_stride]);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  float squares = 0;
  for (int c = threadIdx.x; c < D; c += 32) {
    float total = 0;
    for (int r = 0; r < rows; ++r) total += sums[r * D + c];
    squares = fmaf(total, total, squares);
  }
  squares = warp_sum(squares);
  if (threadIdx.x == 0) s.uniform_norm[blockIdx.x] = sqrtf(squares) / static_cast<float>(max(1, s.N));
}

// Under another mask a block's queries would put out the mean of the values up to its last: sums from the
// first value on, 32 positions at a time, then one warp a position for their lengths.
template <typename T>
__global__ void __launch_bounds__(kThreads) masked_uniform_kernel(AttentionView view) {
  __shared__ float sums[32][kMaxD];
  __shared__ float parts[kWarps];
  const SequenceView& s = view.sequences[blockIdx.z];
  if (s.uniform_norm == nullptr || s.block == 0) return;
  const int D = view.D, d = threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const T* v = head_of<T>(s.v, blockIdx.x, D) + d;
  float sum = 0, norms = 0;
  for (int first = 0; first < s.N; first += 32) {
    if (d < D) {
#pragma unroll 8
      for (int r = 0; r < 32; ++r) {
        if (first + r < s.N) sum += widened(v[(first + r) * s.v_stride]);
        sums[r][d] = sum;
      }
    }
    __syncthreads();
    for (int r = warp; r < 32; r += kWarps) {
      const int j = first + r;
      if (j >= s.N || visible_keys(s, j - s.first_position) != j + 1) continue;  // not the last of a block
      const int begin = max(first_position_seeing(s, j), s.first_position);
      const int queries = min(j + 1, s.first_position + s.T) - begin;
      float squares = 0;
      for (int c = lane; c < D; c += 32) squares = fmaf(sums[r][c], sums[r][c], squares);
      squares = warp_sum(squares);
      if (queries > 0) norms += static_cast<float>(queries) * (sqrtf(squares) / static_cast<float>(j + 1));
    }
    __syncthreads();
  }
  if (lane == 0) parts[warp] = norms;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float total = 0;
  for (const float part : parts) total += part;
  s.uniform_norm[blockIdx.x] = total / static_cast<float>(max(1, s.T));
}

}  // namespace

void run_norms(const AttentionView& view, cudaStream_t stream) {
  const auto count = static_cast<unsigned>(view.count);
  const dim3 keys(static_cast<unsigned>(divide_up(view.most_keys, kWarps)), static_cast<unsigned>(view.Hkv),
                  count);
  with_activation_type(
      view.type, [&](auto type) { value_norms_kernel<decltype(type)><<<keys, kThreads, 0, stream>>>(view); });
  check_launch("value norms");
  const dim3 heads(static_cast<unsigned>(view.Hkv), 1, count);
  with_activation_type(view.type, [&](auto type) {
    using T = decltype(type);
    if (view.some_masked != 0) masked_uniform_kernel<T><<<heads, kThreads, 0, stream>>>(view);
    if (view.some_full != 0) full_uniform_kernel<T><<<heads, kUniformThreads, 0, stream>>>(view);
  });
  check_launch("uniform norms");
  output_norm_kernel<<<dim3(static_cast<unsigned>(view.H), 1, count), kThreads, 0, stream>>>(view);
  check_launch("output norms");
}

}  // namespace buoy::cuda
