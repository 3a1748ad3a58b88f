// Pass 1 without tensor cores: one block per head and 64 queries walks the keys with a running softmax.
#include "buoy/compute/cuda/plain_tiles.cuh"

namespace buoy::cuda {
namespace {

// Largest or sum over the 16 threads that share a query.
template <class Combine>
__device__ float over_row(float x, const Combine& combine) {
  for (int step = kSide / 2; step > 0; step /= 2) x = combine(x, __shfl_xor_sync(~0u, x, step));
  return x;
}

template <int DP>
struct RunningRow {
  float largest = -kInfinity, total = 0;
  float out[DP / kSide] = {};
};

// Turns a query's scores of one tile into weights and makes room for them in what was summed before.
template <int DP>
__device__ void take_scores(float (&scores)[kOwn], RunningRow<DP>& row, float* weights) {
  float largest = row.largest;
#pragma unroll
  for (const float s : scores) largest = fmaxf(largest, s);
  largest = over_row(largest, [](float a, float b) { return fmaxf(a, b); });
  const float base = largest == -kInfinity ? 0.0f : largest, shrink = exp2f(row.largest - base);
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    const float p = exp2f(scores[j] - base);
    weights[threadIdx.x % kSide + kSide * j] = p;
    sum += p;
  }
  row.total = row.total * shrink + over_row(sum, [](float a, float b) { return a + b; });
  row.largest = largest;
#pragma unroll
  for (float& x : row.out) x *= shrink;
}

template <int DP, typename T>
__device__ void store_row(const AttentionView& view, const SequenceView& s, int h, int t,
                          const RunningRow<DP>& row) {
  const int tx = threadIdx.x % kSide;
  const float inverse = row.total == 0 ? 0.0f : 1.0f / row.total;
  float squares = 0;
  T* out = static_cast<T*>(s.out) + t * s.out_stride + static_cast<Index>(h) * view.D;
  const float gain = s.head_gain == nullptr ? 1.0f : s.head_gain[h];
#pragma unroll
  for (int c = 0; c < DP / kSide; ++c) {
    const float x = row.out[c] * inverse;
    squares = fmaf(x, x, squares);
    if (t < s.T && tx + kSide * c < view.D) out[tx + kSide * c] = narrowed<T>(x * gain);
  }
  squares = over_row(squares, [](float a, float b) { return a + b; });
  if (tx != 0 || t >= s.T) return;
  const Index at = static_cast<Index>(h) * s.T + t;
  store_lse(s, h, t, row.total == 0 ? kInfinity : row.largest + log2f(row.total));
  if (s.output_norms != nullptr) s.output_norms[at] = sqrtf(squares);
}

template <typename T, int DP>
__global__ void __launch_bounds__(kSide* kSide) attention_kernel(AttentionView view) {
  extern __shared__ float4 memory[];
  auto& shared = *reinterpret_cast<PlainShared<DP>*>(memory);
  const SequenceView& s = view.sequences[blockIdx.z];
  const int first = blockIdx.x * kTile, h = blockIdx.y, kv = h / (view.H / view.Hkv);
  if (first >= s.T) return;
  const int tx = threadIdx.x % kSide, ty = threadIdx.x / kSide;
  const float scale = score_scale(view);
  load_tile<DP>(shared.queries, head_of<T>(s.q, h, view.D), s.q_stride, view.D,
                [&](int r) { return first + r < s.T ? first + r : -1; });
  RunningRow<DP> rows[kOwn];
  const int end = visible_keys(s, min(first + kTile, s.T) - 1);
  for (int key = 0; key < end; key += kTile) {
    const auto source = [&](int r) { return key + r < s.N ? key + r : -1; };
    __syncthreads();
    load_tile<DP>(shared.keys, head_of<T>(s.k, kv, view.D), s.k_stride, view.D, source);
    __syncthreads();
    float scores[kOwn][kOwn];
    score_tile(shared, scores);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int seen = visible_keys(s, first + ty + kSide * i);
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        const int at = key + tx + kSide * j;
        scores[i][j] = at < seen ? scores[i][j] * scale + bias_of(s, h, at) : -kInfinity;
      }
      take_scores(scores[i], rows[i], shared.weights[ty + kSide * i]);
    }
    __syncthreads();
    load_tile<DP>(shared.keys, head_of<T>(s.v, kv, view.D), s.v_stride, view.D, source);
    __syncthreads();
    for (int j = 0; j < kTile; ++j) {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const float p = shared.weights[ty + kSide * i][j];
#pragma unroll
        for (int c = 0; c < DP / kSide; ++c) {
          rows[i].out[c] = fmaf(p, shared.keys[j][tx + kSide * c], rows[i].out[c]);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) store_row<DP, T>(view, s, h, first + ty + kSide * i, rows[i]);
}

}  // namespace

void run_plain_attention(const AttentionView& view, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(divide_up(view.most_queries, kTile)), static_cast<unsigned>(view.H),
                  static_cast<unsigned>(view.count));
  with_plain_shape(view, [&](auto type, auto size) {
    constexpr int kShared = sizeof(PlainShared<size()>);
    auto* kernel = attention_kernel<decltype(type), size()>;
    allow_shared(kernel, kShared);
    kernel<<<grid, kSide * kSide, kShared, stream>>>(view);
  });
  check_launch("plain attention");
}

}  // namespace buoy::cuda
