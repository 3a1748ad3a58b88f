// Pass 2 on tensor cores: a block owns 64 keys of a head, 16 a warp, keeps them in registers and walks the
// queries group by group. Scores are computed transposed, so that a thread's sums run along its own rows: no
// atomics, and the order of a sum depends on the sequence alone.
#include "buoy/compute/cuda/mma.cuh"

namespace buoy::cuda {
namespace {

constexpr int kWarps = 4, kThreads = 32 * kWarps, kKeys = 16 * kWarps, kTiles = kQueryBlock / 8;

template <int D>
struct Shared {
  uint4 keys[kKeys * D / kVector];
  uint4 queries[2][kQueryBlock * D / kVector];
  float lse[2][kQueryBlock];  // +inf: no query
  int seen[2][kQueryBlock];   // keys it sees
};

template <int D>
__device__ void load_block(const AttentionView& view, const SequenceView& s, int h, int block,
                           Shared<D>& shared, int stage) {
  const int* order = s.order + block * kQueryBlock;
  copy_rows<D, kQueryBlock, kThreads>(shared.queries[stage], head_of<Bf16>(s.q, h, D), s.q_stride,
                                      [&](int r) { return order[r]; });
  close_copies();
  if (threadIdx.x >= kQueryBlock) return;
  const int t = order[threadIdx.x];
  shared.lse[stage][threadIdx.x] =
      s.ordered_lse[(static_cast<Index>(h) * s.block_count + block) * kQueryBlock + threadIdx.x];
  shared.seen[stage][threadIdx.x] = t < 0 ? 0 : visible_keys(s, t);
}

template <int D>
__global__ void __launch_bounds__(kThreads) columns_kernel(AttentionView view) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<Shared<D>*>(memory);
  const SequenceView& s = view.sequences[blockIdx.z];
  const int first = blockIdx.x * kKeys, h = blockIdx.y, kv = h / (view.H / view.Hkv);
  if (s.column_sums == nullptr || first >= s.N || s.block_count == 0) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float scale = score_scale(view);
  copy_rows<D, kKeys, kThreads>(shared.keys, head_of<Bf16>(s.k, kv, D), s.k_stride,
                                [&](int r) { return first + r < s.N ? first + r : -1; });
  load_block(view, s, h, 0, shared, 0);
  wait_copies<0>();
  __syncthreads();
  unsigned keys[D / 16][4];
#pragma unroll
  for (int step = 0; step < D / 16; ++step) load_left<D>(shared.keys, 16 * warp, step, keys[step]);

  const int mine[2] = {first + 16 * warp + lane / 4, first + 16 * warp + lane / 4 + 8};
  const float biases[2] = {mine[0] < s.N ? bias_of(s, h, mine[0]) : -kInfinity,
                           mine[1] < s.N ? bias_of(s, h, mine[1]) : -kInfinity};
  float sums[2] = {0, 0};
  for (int b = 0; b < s.block_count; ++b) {
    const int stage = b % 2, group = s.group_blocks[b].group;
    if (b + 1 < s.block_count) load_block(view, s, h, b + 1, shared, stage ^ 1);
    float scores[kTiles][4];
    score_rows<D>(keys, shared.queries[stage], scores);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int query = 8 * n + 2 * (lane % 4) + e % 2;
        const float weight = exp2_fast(fmaf(scores[n][e], scale, biases[e / 2]) - shared.lse[stage][query]);
        sums[e / 2] += mine[e / 2] < shared.seen[stage][query] ? weight : 0.0f;
      }
    }
    if (b + 1 == s.block_count || s.group_blocks[b + 1].group != group) {
      float* to = s.column_sums + (static_cast<Index>(h) * s.group_count + group) * s.N;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float total = quad_sum(sums[half]);
        if (lane % 4 == 0 && mine[half] < s.N) to[mine[half]] = total;
        sums[half] = 0;
      }
    }
    wait_copies<0>();
    __syncthreads();
  }
}

}  // namespace

void run_mma_columns(const AttentionView& view, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(divide_up(view.most_keys, kKeys)), static_cast<unsigned>(view.H),
                  static_cast<unsigned>(view.count));
  with_head_size(view.D, [&](auto size) {
    constexpr int kShared = sizeof(Shared<size()>);
    allow_shared(columns_kernel<size()>, kShared);
    columns_kernel<size()><<<grid, kThreads, kShared, stream>>>(view);
  });
  check_launch("column sums");
}

}  // namespace buoy::cuda
