// Row statistics on tensor cores: a block scores 16 rows of a head against 128 keys at a time, 16 keys a
// warp, then each warp folds two of the rows. Small enough to run beside a block of pass 2.
#include "buoy/compute/cuda/mma.cuh"
#include "buoy/compute/cuda/row_fold.cuh"

namespace buoy::cuda {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps, kRows = 16, kTiles = 2;
constexpr int kWarpKeys = 8 * kTiles, kKeys = kWarpKeys * kWarps;

static_assert(kKeys <= kThreads && kRows == 2 * kWarps);

template <int D>
struct Shared {
  uint4 queries[kRows * D / kVector];
  uint4 keys[2][kKeys * D / kVector];
  float scores[kRows][kKeys + 4];
  signed char groups[kKeys];
};

template <int D>
__global__ void __launch_bounds__(kThreads) rows_kernel(AttentionView view) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<Shared<D>*>(memory);
  const SequenceView& s = view.sequences[blockIdx.z];
  const int first = blockIdx.x * kRows, h = blockIdx.y, kv = h / (view.H / view.Hkv);
  if (first >= s.R) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float scale = score_scale(view);
  const auto load = [&](int key, int stage) {
    copy_rows<D, kKeys, kThreads>(shared.keys[stage], head_of<Bf16>(s.k, kv, D), s.k_stride,
                                  [&](int r) { return key + r < s.N ? key + r : -1; });
    close_copies();
  };
  copy_rows<D, kRows, kThreads>(shared.queries, head_of<Bf16>(s.q, h, D), s.q_stride,
                                [&](int r) { return first + r < s.R ? s.rows[first + r] : -1; });
  load(0, 0);
  wait_copies<0>();
  __syncthreads();
  unsigned queries[D / 16][4];
#pragma unroll
  for (int step = 0; step < D / 16; ++step) load_left<D>(shared.queries, 0, step, queries[step]);
  RowFold low(view, s, h, first + warp), high(view, s, h, first + warp + kWarps);
  for (int key = 0, stage = 0; key < s.N; key += kKeys, stage ^= 1) {
    if (key + kKeys < s.N) load(key + kKeys, stage ^ 1);
    float scores[kTiles][4];
    score_rows<D>(queries, shared.keys[stage] + kWarpKeys * warp * (D / kVector), scores);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = kWarpKeys * warp + 8 * n + 2 * (lane % 4) + e, j = key + column;
        const float bias = j < s.N ? bias_of(s, h, j) : -kInfinity;
        shared.scores[lane / 4][column] = scores[n][e] * scale + bias;
        shared.scores[lane / 4 + 8][column] = scores[n][e + 2] * scale + bias;
      }
    }
    if (threadIdx.x < kKeys) {
      const int j = key + threadIdx.x;
      shared.groups[threadIdx.x] = j < s.N && s.key_groups != nullptr ? s.key_groups[j] : -1;
    }
    __syncthreads();
    low.take<kKeys>(shared.scores[warp], key, shared.groups);
    high.take<kKeys>(shared.scores[warp + kWarps], key, shared.groups);
    wait_copies<0>();
    __syncthreads();
  }
  low.write();
  high.write();
}

}  // namespace

void run_mma_rows(const AttentionView& view, cudaStream_t stream) {
  if (view.most_rows == 0) return;
  const dim3 grid(static_cast<unsigned>(divide_up(view.most_rows, kRows)), static_cast<unsigned>(view.H),
                  static_cast<unsigned>(view.count));
  with_head_size(view.D, [&](auto size) {
    constexpr int kShared = sizeof(Shared<size()>);
    allow_shared(rows_kernel<size()>, kShared);
    rows_kernel<size()><<<grid, kThreads, kShared, stream>>>(view);
  });
  check_launch("row statistics");
}

}  // namespace buoy::cuda
