// Closer looks at chosen rows: all threads score 256 keys against 8 queries, then one warp a query folds
// them.
#include "buoy/compute/cuda/row_fold.cuh"

namespace buoy::cuda {
namespace {

constexpr int kRows = 8, kThreads = 32 * kRows, kMaxD = 256;

template <typename T>
__device__ void score_keys(const T* key, int D, const float (*queries)[kMaxD], float (&scores)[kRows]) {
  if (D % kVector == 0) {
    for (int d = 0; d < D; d += kVector) {
      float k[kVector];
      load_vector(key + d, k);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float4 *q = reinterpret_cast<const float4*>(&queries[r][d]), a = q[0], b = q[1];
        float s = scores[r];
        s = fmaf(a.x, k[0], s), s = fmaf(a.y, k[1], s), s = fmaf(a.z, k[2], s), s = fmaf(a.w, k[3], s);
        s = fmaf(b.x, k[4], s), s = fmaf(b.y, k[5], s), s = fmaf(b.z, k[6], s), s = fmaf(b.w, k[7], s);
        scores[r] = s;
      }
    }
  } else {
    for (int d = 0; d < D; ++d) {
      const float k = widened(key[d]);
#pragma unroll
      for (int r = 0; r < kRows; ++r) scores[r] = fmaf(queries[r][d], k, scores[r]);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) rows_kernel(AttentionView view) {
  __shared__ __align__(16) float queries[kRows][kMaxD];
  __shared__ float tile[kRows][kThreads];
  __shared__ signed char groups[kThreads];
  const SequenceView& s = view.sequences[blockIdx.z];
  const int first = blockIdx.x * kRows, h = blockIdx.y, kv = h / (view.H / view.Hkv);
  if (first >= s.R) return;
  const float scale = score_scale(view);
  for (int i = threadIdx.x; i < kRows * view.D; i += kThreads) {
    const int r = i / view.D, d = i % view.D, row = first + r < s.R ? s.rows[first + r] : s.rows[first];
    queries[r][d] = widened(head_of<T>(s.q, h, view.D)[row * s.q_stride + d]);
  }
  const int warp = threadIdx.x / 32;
  RowFold fold(view, s, h, first + warp);
  for (int key = 0; key < s.N; key += kThreads) {
    __syncthreads();
    const int j = key + threadIdx.x;
    float scores[kRows] = {};
    if (j < s.N) score_keys(head_of<T>(s.k, kv, view.D) + j * s.k_stride, view.D, queries, scores);
    const float bias = j < s.N ? bias_of(s, h, j) : -kInfinity;
#pragma unroll
    for (int r = 0; r < kRows; ++r) tile[r][threadIdx.x] = scores[r] * scale + bias;
    groups[threadIdx.x] = j < s.N && s.key_groups != nullptr ? s.key_groups[j] : -1;
    __syncthreads();
    fold.take<kThreads>(tile[warp], key, groups);
  }
  fold.write();
}

}  // namespace

void run_plain_rows(const AttentionView& view, cudaStream_t stream) {
  if (view.most_rows == 0) return;
  const dim3 grid(static_cast<unsigned>(divide_up(view.most_rows, kRows)), static_cast<unsigned>(view.H),
                  static_cast<unsigned>(view.count));
  with_activation_type(view.type,
                       [&](auto type) { rows_kernel<decltype(type)><<<grid, kThreads, 0, stream>>>(view); });
  check_launch("row statistics");
}

}  // namespace buoy::cuda
