// Lengths of values, and the mean length of a head's outputs.
#include "compute/cuda/attention_device.cuh"

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

}  // namespace

void run_norms(const AttentionView& view, cudaStream_t stream) {
  const auto count = static_cast<unsigned>(view.count);
  const dim3 keys(static_cast<unsigned>(divide_up(view.most_keys, kWarps)), static_cast<unsigned>(view.Hkv),
                  count);
  with_activation_type(
      view.type, [&](auto type) { value_norms_kernel<decltype(type)><<<keys, kThreads, 0, stream>>>(view); });
  check_launch("value norms");
  output_norm_kernel<<<dim3(static_cast<unsigned>(view.H), 1, count), kThreads, 0, stream>>>(view);
  check_launch("output norms");
}

}  // namespace buoy::cuda
