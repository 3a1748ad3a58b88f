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

// The sum of a block's threads' values, for thread 0.
__device__ float block_sum(float mine) {
  __shared__ float parts[kWarps];
  mine = warp_sum(mine);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
  __syncthreads();
  float total = 0;
  for (const float part : parts) total += part;
  return total;
}

__global__ void __launch_bounds__(kThreads) output_norm_kernel(AttentionView view) {
  const SequenceView& s = view.sequences[blockIdx.z];
  if (s.mean_output_norm == nullptr) return;
  const float* norms = s.output_norms + static_cast<Index>(blockIdx.x) * s.T;
  float sum = 0;
  for (int t = threadIdx.x; t < s.T; t += kThreads) sum += norms[t];
  const float total = block_sum(sum);
  if (threadIdx.x == 0) s.mean_output_norm[blockIdx.x] = total / static_cast<float>(max(1, s.T));
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

// Under another mask a block's queries would put out the mean of the values up to its last. Positions go in
// chunks: their sums, then those of all chunks before each, then the lengths inside a chunk, one warp a
// position, then the mean over all chunks.
constexpr int kChunk = 32, kAtOnce = 8;

__host__ __device__ int chunk_count(Index N) {
  return static_cast<int>((N + kChunk - 1) / kChunk);
}

// Of a key head: sums [chunks, D], and what each chunk's queries add to the mean [chunks].
struct UniformScratch {
  float *sums, *parts;
};

__device__ UniformScratch uniform_scratch_of(const AttentionView& view, const SequenceView& s, int kv) {
  const Index chunks = chunk_count(s.N);
  float* sums = s.uniform_scratch + kv * chunks * (view.D + 1);
  return {sums, sums + chunks * view.D};
}

__device__ bool has_chunk(const SequenceView& s, int chunk) {
  return s.uniform_norm != nullptr && s.block > 0 && chunk < chunk_count(s.N);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) chunk_sums_kernel(AttentionView view) {
  const SequenceView& s = view.sequences[blockIdx.z];
  const int chunk = blockIdx.x, kv = blockIdx.y, D = view.D, d = threadIdx.x, first = chunk * kChunk;
  if (!has_chunk(s, chunk) || d >= D) return;
  const T* v = head_of<T>(s.v, kv, D) + d;
  float sum = 0;
#pragma unroll kAtOnce
  for (int r = 0; r < kChunk; ++r) {
    if (first + r < s.N) sum += widened(v[(first + r) * s.v_stride]);
  }
  uniform_scratch_of(view, s, kv).sums[static_cast<Index>(chunk) * D + d] = sum;
}

__global__ void __launch_bounds__(kThreads) chunks_before_kernel(AttentionView view) {
  const SequenceView& s = view.sequences[blockIdx.z];
  const int kv = blockIdx.x, D = view.D, d = threadIdx.x;
  if (!has_chunk(s, 0) || d >= D) return;
  float* column = uniform_scratch_of(view, s, kv).sums + d;
  const int chunks = chunk_count(s.N);
  double sum = 0;
  // Read before one is written: or each waits for the last.
  for (int begin = 0; begin < chunks; begin += kAtOnce) {
    float here[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) here[i] = column[static_cast<Index>(min(chunks - 1, begin + i)) * D];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (begin + i >= chunks) break;
      column[static_cast<Index>(begin + i) * D] = static_cast<float>(sum);
      sum += here[i];
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) masked_uniform_kernel(AttentionView view) {
  __shared__ float sums[kChunk][kMaxD];
  const SequenceView& s = view.sequences[blockIdx.z];
  const int chunk = blockIdx.x, kv = blockIdx.y, D = view.D, d = threadIdx.x, first = chunk * kChunk;
  if (!has_chunk(s, chunk)) return;
  const UniformScratch scratch = uniform_scratch_of(view, s, kv);
  if (d < D) {
    const T* v = head_of<T>(s.v, kv, D) + d;
    float sum = scratch.sums[static_cast<Index>(chunk) * D + d];
#pragma unroll kAtOnce
    for (int r = 0; r < kChunk; ++r) {
      if (first + r < s.N) sum += widened(v[(first + r) * s.v_stride]);
      sums[r][d] = sum;
    }
  }
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float norms = 0;
  for (int r = warp; r < kChunk; r += kWarps) {
    const int j = first + r;
    if (j >= s.N || visible_keys(s, j - s.first_position) != j + 1) continue;  // not the last of a block
    const int begin = max(first_position_seeing(s, j), s.first_position);
    const int queries = min(j + 1, s.first_position + s.T) - begin;
    float squares = 0;
    for (int c = lane; c < D; c += 32) squares = fmaf(sums[r][c], sums[r][c], squares);
    squares = warp_sum(squares);
    if (queries > 0 && lane == 0)
      norms += static_cast<float>(queries) * (sqrtf(squares) / static_cast<float>(j + 1));
  }
  const float total = block_sum(norms);
  if (threadIdx.x == 0) scratch.parts[chunk] = total;
}

__global__ void __launch_bounds__(kThreads) uniform_mean_kernel(AttentionView view) {
  const SequenceView& s = view.sequences[blockIdx.z];
  const int kv = blockIdx.x;
  if (!has_chunk(s, 0)) return;
  const float* parts = uniform_scratch_of(view, s, kv).parts;
  float sum = 0;
  for (int c = threadIdx.x; c < chunk_count(s.N); c += kThreads) sum += parts[c];
  const float total = block_sum(sum);
  if (threadIdx.x == 0) s.uniform_norm[kv] = total / static_cast<float>(max(1, s.T));
}

template <typename T>
void run_masked_uniform(const AttentionView& view, unsigned heads, unsigned count, cudaStream_t stream) {
  const dim3 chunks(static_cast<unsigned>(chunk_count(view.most_keys)), heads, count), whole(heads, 1, count);
  chunk_sums_kernel<T><<<chunks, kThreads, 0, stream>>>(view);
  check_launch("sums of values");
  chunks_before_kernel<<<whole, kThreads, 0, stream>>>(view);
  check_launch("sums of earlier values");
  masked_uniform_kernel<T><<<chunks, kThreads, 0, stream>>>(view);
  check_launch("uniform outputs");
  uniform_mean_kernel<<<whole, kThreads, 0, stream>>>(view);
  check_launch("uniform norms");
}

}  // namespace

Index uniform_scratch(const AttentionView& view, const SequenceView& s) {
  return s.block == 0 ? 0 : Index{view.Hkv} * chunk_count(s.N) * (view.D + 1);
}

void run_value_norms(const AttentionView& view, cudaStream_t stream) {
  const auto heads = static_cast<unsigned>(view.Hkv), count = static_cast<unsigned>(view.count);
  const dim3 keys(static_cast<unsigned>(divide_up(view.most_keys, kWarps)), heads, count);
  with_activation_type(view.type, [&](auto type) {
    using T = decltype(type);
    value_norms_kernel<T><<<keys, kThreads, 0, stream>>>(view);
    check_launch("value norms");
    if (view.some_masked != 0) run_masked_uniform<T>(view, heads, count, stream);
    if (view.some_full == 0) return;
    full_uniform_kernel<T><<<dim3(heads, 1, count), kUniformThreads, 0, stream>>>(view);
    check_launch("uniform norms");
  });
}

void run_output_norms(const AttentionView& view, cudaStream_t stream) {
  const dim3 heads(static_cast<unsigned>(view.H), 1, static_cast<unsigned>(view.count));
  output_norm_kernel<<<heads, kThreads, 0, stream>>>(view);
  check_launch("output norms");
}

}  // namespace buoy::cuda
