// Pass 2 without tensor cores: one block owns 64 keys of a head and walks the queries, group by group.
#include "buoy/compute/cuda/plain_tiles.cuh"

namespace buoy::cuda {
namespace {

// Adds up what the 16 threads of a key have, in order, and writes it.
template <int DP>
__device__ void flush(PlainShared<DP>& shared, float (&sums)[kOwn], float* to, int first, int N) {
  const int tx = threadIdx.x % kSide, ty = threadIdx.x / kSide;
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    shared.weights[ty][tx + kSide * j] = sums[j];
    sums[j] = 0;
  }
  __syncthreads();
  if (threadIdx.x < kTile && first + threadIdx.x < N) {
    float total = 0;
    for (int i = 0; i < kSide; ++i) total += shared.weights[i][threadIdx.x];
    to[first + threadIdx.x] = total;
  }
  __syncthreads();
}

template <typename T, int DP>
__global__ void __launch_bounds__(kSide* kSide) columns_kernel(AttentionView view) {
  extern __shared__ float4 memory[];
  auto& shared = *reinterpret_cast<PlainShared<DP>*>(memory);
  const SequenceView& s = view.sequences[blockIdx.z];
  const int first = blockIdx.x * kTile, h = blockIdx.y, kv = h / (view.H / view.Hkv);
  if (s.column_sums == nullptr || first >= s.N) return;
  const int tx = threadIdx.x % kSide, ty = threadIdx.x / kSide;
  const float scale = score_scale(view);
  load_tile<DP>(shared.keys, head_of<T>(s.k, kv, view.D), s.k_stride, view.D,
                [&](int r) { return first + r < s.N ? first + r : -1; });
  float biases[kOwn], sums[kOwn] = {};
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    const int at = first + tx + kSide * j;
    biases[j] = at < s.N ? bias_of(s, h, at) : -kInfinity;
  }
  for (int b = 0; b < s.block_count; ++b) {
    const GroupBlock block = s.group_blocks[b];
    if (visible_keys(s, block.last_query) > first) {
      const int* order = s.order + b * kQueryBlock;
      __syncthreads();
      load_tile<DP>(shared.queries, head_of<T>(s.q, h, view.D), s.q_stride, view.D,
                    [&](int r) { return order[r]; });
      __syncthreads();
      float scores[kOwn][kOwn];
      score_tile(shared, scores);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int t = order[ty + kSide * i];
        if (t < 0) continue;
        const int seen = visible_keys(s, t);
        const float lse = s.lse[static_cast<Index>(h) * s.T + t];
#pragma unroll
        for (int j = 0; j < kOwn; ++j) {
          if (first + tx + kSide * j < seen) sums[j] += exp2f(scores[i][j] * scale + biases[j] - lse);
        }
      }
    }
    if (b + 1 == s.block_count || s.group_blocks[b + 1].group != block.group) {
      __syncthreads();
      float* to = s.column_sums + (static_cast<Index>(h) * s.group_count + block.group) * s.N;
      flush(shared, sums, to, first, s.N);
    }
  }
}

static_assert(kTile == kQueryBlock);

}  // namespace

void run_plain_columns(const AttentionView& view, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(divide_up(view.most_keys, kTile)), static_cast<unsigned>(view.H),
                  static_cast<unsigned>(view.count));
  with_plain_shape(view, [&](auto type, auto size) {
    constexpr int kShared = sizeof(PlainShared<size()>);
    auto* kernel = columns_kernel<decltype(type), size()>;
    allow_shared(kernel, kShared);
    kernel<<<grid, kSide * kSide, kShared, stream>>>(view);
  });
  check_launch("plain column sums");
}

}  // namespace buoy::cuda
