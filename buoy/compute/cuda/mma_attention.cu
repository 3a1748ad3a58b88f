// Pass 1 on tensor cores: a block holds 64 queries of a head, 16 a warp, and walks the keys 64 at a time with
// a running softmax; the next keys and values arrive while these are worked on.
#include "buoy/compute/cuda/mma.cuh"

namespace buoy::cuda {
namespace {

constexpr int kWarps = 4, kThreads = 32 * kWarps, kQueries = 16 * kWarps, kKeys = 64, kTiles = kKeys / 8;

template <int D>
struct Shared {
  uint4 queries[kQueries * D / kVector];
  uint4 keys[2][kKeys * D / kVector];
  uint4 values[2][kKeys * D / kVector];
};

// Two rows of a thread: lane/4 and lane/4 + 8 of its warp's 16.
template <int D>
struct Running {
  float largest[2] = {-kInfinity, -kInfinity}, total[2] = {0, 0};
  float out[D / 8][4] = {};
};

// Scores become weights relative to the largest so far; sums so far are shrunk to match. A thread keeps its
// own part of a row's total until the end.
template <int D>
__device__ void take_scores(float (&scores)[kTiles][4], Running<D>& rows) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = rows.largest[half];
#pragma unroll
    for (const auto& s : scores) largest = fmaxf(largest, fmaxf(s[2 * half], s[2 * half + 1]));
    largest = quad_max(largest);
    const float base = largest == -kInfinity ? 0.0f : largest;
    const float shrink = exp2_fast(rows.largest[half] - base);
    rows.largest[half] = largest;
    float sum = 0;
#pragma unroll
    for (auto& s : scores) {
      s[2 * half] = exp2_fast(s[2 * half] - base);
      s[2 * half + 1] = exp2_fast(s[2 * half + 1] - base);
      sum += s[2 * half] + s[2 * half + 1];
    }
    rows.total[half] = rows.total[half] * shrink + sum;
#pragma unroll
    for (auto& o : rows.out) o[2 * half] *= shrink, o[2 * half + 1] *= shrink;
  }
}

// out += weights · values, the weights as bf16.
template <int D>
__device__ void add_values(const float (&weights)[kTiles][4], const uint4* values, Running<D>& rows) {
  const int lane = threadIdx.x % 32, matrix = lane / 8;
#pragma unroll
  for (int step = 0; step < kKeys / 16; ++step) {
    const auto &low = weights[2 * step], &high = weights[2 * step + 1];
    const unsigned a[4] = {pack_bf16(low[0], low[1]), pack_bf16(low[2], low[3]), pack_bf16(high[0], high[1]),
                           pack_bf16(high[2], high[3])};
#pragma unroll
    for (int n = 0; n < D / 8; n += 2) {
      unsigned b[4];
      load_transposed(values + chunk_at<D>(16 * step + matrix % 2 * 8 + lane % 8, n + matrix / 2), b);
      multiply_add(rows.out[n], a, b[0], b[1]);
      multiply_add(rows.out[n + 1], a, b[2], b[3]);
    }
  }
}

template <int D>
__device__ void store(const AttentionView& view, const SequenceView& s, int h, int first, Running<D>& rows) {
  const int lane = threadIdx.x % 32;
  const float gain = s.head_gain == nullptr ? 1.0f : s.head_gain[h];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int t = first + lane / 4 + 8 * half;
    const float total = quad_sum(rows.total[half]), inverse = total == 0 ? 0.0f : 1.0f / total;
    float squares = 0;
    Bf16* out = static_cast<Bf16*>(s.out) + t * s.out_stride + h * D + 2 * (lane % 4);
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      const float a = rows.out[n][2 * half] * inverse, b = rows.out[n][2 * half + 1] * inverse;
      squares = fmaf(a, a, fmaf(b, b, squares));
      if (t < s.T) *reinterpret_cast<unsigned*>(out + 8 * n) = pack_bf16(a * gain, b * gain);
    }
    squares = quad_sum(squares);
    if (lane % 4 != 0 || t >= s.T) continue;
    const Index at = static_cast<Index>(h) * s.T + t;
    store_lse(s, h, t, total == 0 ? kInfinity : rows.largest[half] + log2f(total));
    if (s.output_norms != nullptr) s.output_norms[at] = sqrtf(squares);
  }
}

template <int D>
__global__ void __launch_bounds__(kThreads) attention_kernel(AttentionView view) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<Shared<D>*>(memory);
  const SequenceView& s = view.sequences[blockIdx.z];
  const int first = blockIdx.x * kQueries, h = blockIdx.y, kv = h / (view.H / view.Hkv);
  if (first >= s.T) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float scale = score_scale(view);
  const int end = visible_keys(s, min(first + kQueries, s.T) - 1);
  const auto load = [&](int key, int stage) {
    const auto source = [&](int r) { return key + r < s.N ? key + r : -1; };
    copy_rows<D, kKeys, kThreads>(shared.keys[stage], head_of<Bf16>(s.k, kv, D), s.k_stride, source);
    copy_rows<D, kKeys, kThreads>(shared.values[stage], head_of<Bf16>(s.v, kv, D), s.v_stride, source);
    close_copies();
  };
  copy_rows<D, kQueries, kThreads>(shared.queries, head_of<Bf16>(s.q, h, D), s.q_stride,
                                   [&](int r) { return first + r < s.T ? first + r : -1; });
  load(0, 0);
  wait_copies<0>();
  __syncthreads();
  unsigned queries[D / 16][4];
#pragma unroll
  for (int step = 0; step < D / 16; ++step) load_left<D>(shared.queries, 16 * warp, step, queries[step]);

  Running<D> rows;
  const int row = first + 16 * warp + lane / 4;
  const int seen[2] = {visible_keys(s, row), visible_keys(s, row + 8)};
  for (int key = 0, stage = 0; key < end; key += kKeys, stage ^= 1) {
    if (key + kKeys < end) load(key + kKeys, stage ^ 1);
    float scores[kTiles][4];
    score_rows<D>(queries, shared.keys[stage], scores);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int j = key + 8 * n + 2 * (lane % 4) + e % 2;
        scores[n][e] = j < seen[e / 2] ? scores[n][e] * scale + bias_of(s, h, j) : -kInfinity;
      }
    }
    take_scores(scores, rows);
    add_values(scores, shared.values[stage], rows);
    wait_copies<0>();
    __syncthreads();
  }
  store(view, s, h, first + 16 * warp, rows);
}

}  // namespace

void run_mma_attention(const AttentionView& view, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(divide_up(view.most_queries, kQueries)),
                  static_cast<unsigned>(view.H), static_cast<unsigned>(view.count));
  with_head_size(view.D, [&](auto size) {
    constexpr int kShared = sizeof(Shared<size()>);
    allow_shared(attention_kernel<size()>, kShared);
    attention_kernel<size()><<<grid, kThreads, kShared, stream>>>(view);
  });
  check_launch("attention");
}

}  // namespace buoy::cuda
