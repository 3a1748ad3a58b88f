// Column means of scores, cosines and norms in O(N·D): Σ_i q_i·k_j = (Σ_i q_i)·k_j, with the queries summed
// in chunks of positions so that a key adds only those that see it.
#include "buoy/compute/cuda/attention_device.cuh"

namespace buoy::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kChunk = 32;       // positions summed together under a mask: they lie in shared memory
constexpr int kFullChunk = 256;  // under a full one, where only sums are kept
constexpr int kMaxD = 256;
constexpr int kAtOnce = 32;  // chunks

__host__ __device__ int chunk_count(int masked, Index T, Index N) {
  return static_cast<int>(masked ? (N + kChunk - 1) / kChunk : (T + kFullChunk - 1) / kFullChunk);
}

// One chunk's queries and their directions as rows of shared memory, [kChunk, D] each, zero where there is no
// query; lengths beside them.
struct ChunkRows {
  float *queries, *directions, *lengths;
};

template <typename T>
__device__ void load_chunk(const AttentionView& view, const SequenceView& s, int h, int chunk,
                           const ChunkRows& rows) {
  const int D = view.D, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int r = warp; r < kChunk; r += kWarps) {
    const int t = chunk * kChunk + r - s.first_position;
    const bool there = t >= 0 && t < s.T;
    const T* q = head_of<T>(s.q, h, D) + (there ? t : 0) * s.q_stride;
    float squares = 0;
    for (int d = lane; d < D; d += 32) {
      const float x = there ? widened(q[d]) : 0.0f;
      rows.queries[r * D + d] = x;
      squares = fmaf(x, x, squares);
    }
    const float length = sqrtf(warp_sum(squares)), inverse = length > 0 ? 1 / length : 0.0f;
    for (int d = lane; d < D; d += 32) rows.directions[r * D + d] = rows.queries[r * D + d] * inverse;
    if (lane == 0) rows.lengths[r] = length;
  }
  __syncthreads();
}

// Turns rows into sums from a row to the last one, and those of later chunks, if there are any.
__device__ void sum_from_below(const ChunkRows& rows, int D, const float* later) {
  for (int c = threadIdx.x; c < 2 * D + 1; c += kThreads) {
    float* column = c < 2 * D ? rows.queries + (c < D ? c : kChunk * D + c - D) : rows.lengths;
    const int stride = c < 2 * D ? D : 1;
    float sum = later == nullptr ? 0.0f : later[c];
    for (int r = kChunk - 1; r >= 0; --r) column[r * stride] = sum += column[r * stride];
  }
  __syncthreads();
}

// How a warp shares out rows of D: `lanes` lanes a row, each with kOwn neighbouring
// dimensions, 32 / lanes rows at once. Whole vectors where the head size allows it.
template <int kOwn>
struct Share {
  int lanes, rows, row, first;  // this lane's row among those at once, and its first dimension

  __device__ explicit Share(int D) {
    const int lane = threadIdx.x % 32;
    lanes = kOwn == kVector ? D / kVector : 32;
    rows = 32 / lanes;
    row = lane / lanes;
    first = lane % lanes * kOwn;
  }
  template <typename T>
  __device__ void load(const T* head, int D, bool there, float (&to)[kOwn]) const {
    if constexpr (kOwn == kVector) {
      load_vector(head + first, to);
#pragma unroll
      for (float& x : to) x = there ? x : 0.0f;
    } else {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) to[i] = there && first + i < D ? widened(head[first + i]) : 0.0f;
    }
  }
  __device__ float sum(float x) const {  // over a row's lanes
    for (int step = lanes / 2; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
    return x;
  }
};

// A chunk's sums of queries and of directions: every lane keeps those of its dimensions over the rows it has
// seen. For the sequences under a full mask, or for the others.
template <typename T, int kOwn>
__global__ void __launch_bounds__(kThreads) chunk_sums_kernel(AttentionView view, bool full) {
  __shared__ float parts[kWarps][2 * 32 * kOwn];
  __shared__ float part_lengths[kWarps][32];
  const SequenceView& s = view.sequences[blockIdx.z];
  const int chunk = blockIdx.x, h = blockIdx.y, D = view.D, chunks = chunk_count(s.block, s.T, s.N);
  if (s.score_means == nullptr || (s.block == 0) != full || chunk >= chunks) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Share<kOwn> share(D);
  const T* head = head_of<T>(s.q, h, D);
  float sums[kOwn] = {}, directions[kOwn] = {}, lengths = 0;
  const int first = full ? chunk * kFullChunk : chunk * kChunk - s.first_position;  // queries
  const int end = min(s.T, first + (full ? kFullChunk : kChunk));
#pragma unroll 4
  for (int t = first + warp * share.rows; t < end; t += kWarps * share.rows) {
    const int mine = t + share.row;
    float x[kOwn], squares = 0;
    share.load(head + max(0, min(mine, s.T - 1)) * s.q_stride, D, mine >= 0 && mine < end, x);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) squares = fmaf(x[i], x[i], squares);
    const float length = sqrtf(share.sum(squares)), inverse = length > 0 ? 1 / length : 0.0f;
    lengths += length;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) sums[i] += x[i], directions[i] = fmaf(x[i], inverse, directions[i]);
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    parts[warp][lane * kOwn + i] = sums[i];
    parts[warp][32 * kOwn + lane * kOwn + i] = directions[i];
  }
  part_lengths[warp][lane] = lengths;
  __syncthreads();
  float* to = s.means_scratch + (static_cast<Index>(h) * chunks + chunk) * (2 * D + 1);
  for (int c = threadIdx.x; c < 2 * D + 1; c += kThreads) {
    float total = 0;
    for (int w = 0; w < kWarps; ++w) {
      for (int r = 0; r < share.rows; ++r) {
        const int at = r * share.lanes * kOwn + c % D;
        total += c == 2 * D ? part_lengths[w][r * share.lanes] : parts[w][c < D ? at : 32 * kOwn + at];
      }
    }
    to[c] = total;
  }
}

// Chunk sums become sums from that chunk on; under a full mask only the first does. For the sequences under a
// full mask, or for the others.
__global__ void suffix_kernel(AttentionView view, bool full) {
  const SequenceView& s = view.sequences[blockIdx.z];
  const int width = 2 * view.D + 1, c = blockIdx.x * kThreads + threadIdx.x, h = blockIdx.y;
  if (s.score_means == nullptr || (s.block == 0) != full || c >= width) return;
  const int chunks = chunk_count(s.block, s.T, s.N);
  float* column = s.means_scratch + static_cast<Index>(h) * chunks * width + c;
  double sum = 0;
  for (int end = chunks; end > 0; end -= kAtOnce) {  // read before one is written: or each waits for the last
    float here[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) here[i] = column[static_cast<Index>(max(0, end - 1 - i)) * width];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (i >= end) break;
      sum += here[i];
      if (s.block > 0) column[static_cast<Index>(end - 1 - i) * width] = static_cast<float>(sum);
    }
  }
  if (s.block == 0) column[0] = static_cast<float>(sum);
}

struct KeyMeans {
  float score, cosine, squares, lengths;  // dot products with sums of queries and of directions; of itself
};

__device__ void write_means(const AttentionView& view, const SequenceView& s, int h, int j,
                            const KeyMeans& m) {
  const float length = sqrtf(m.squares);
  const int first_seeing = s.block > 0 ? max(0, first_position_seeing(s, j) - s.first_position) : 0;
  const float count = static_cast<float>(max(1, s.T - first_seeing));
  const Index at = static_cast<Index>(h) * s.N + j;
  s.score_means[at] = m.score / count;
  s.cosine_means[at] = length > 0 ? m.cosine / (length * count) : 0.0f;
  s.norm_means[at] = m.lengths * length / count;
  const int group = view.H / view.Hkv;
  if (h % group == 0) s.key_norms[static_cast<Index>(h / group) * s.N + j] = length;
}

// One block per head and chunk of positions, for the keys that are seen from one of them on; one warp a key.
// Where all of them are seen from the chunk's first position on, as in blocks of 32, its queries need not be
// looked at again.
template <typename T>
__global__ void __launch_bounds__(kThreads) masked_means_kernel(AttentionView view) {
  extern __shared__ float memory[];
  const SequenceView& s = view.sequences[blockIdx.z];
  const int chunk = blockIdx.x, h = blockIdx.y, D = view.D, kv = h / (view.H / view.Hkv);
  if (s.score_means == nullptr || s.block == 0 || chunk * kChunk >= s.N) return;
  const int first = first_key_from(s, chunk * kChunk),
            end = min(s.N, first_key_from(s, (chunk + 1) * kChunk));
  if (first >= end) return;
  const int width = 2 * D + 1, chunks = chunk_count(1, s.T, s.N), lane = threadIdx.x % 32;
  const float* from_here = s.means_scratch + (static_cast<Index>(h) * chunks + chunk) * width;
  const bool alike = first_position_seeing(s, end - 1) == chunk * kChunk;
  const ChunkRows rows{memory, memory + kChunk * D, memory + 2 * kChunk * D};
  if (alike) {
    for (int c = threadIdx.x; c < width; c += kThreads) {
      (c < D ? rows.queries[c] : c < 2 * D ? rows.directions[c - D] : rows.lengths[0]) = from_here[c];
    }
    __syncthreads();
  } else {
    load_chunk<T>(view, s, h, chunk, rows);
    sum_from_below(rows, D, chunk + 1 < chunks ? from_here + width : nullptr);
  }
  for (int j = first + threadIdx.x / 32; j < end; j += kWarps) {
    const int r = alike ? 0 : first_position_seeing(s, j) - chunk * kChunk;
    const T* k = head_of<T>(s.k, kv, D) + j * s.k_stride;
    KeyMeans m{0, 0, 0, rows.lengths[r]};
    for (int d = lane; d < D; d += 32) {
      const float x = widened(k[d]);
      m.score = fmaf(rows.queries[r * D + d], x, m.score);
      m.cosine = fmaf(rows.directions[r * D + d], x, m.cosine);
      m.squares = fmaf(x, x, m.squares);
    }
    m.score = warp_sum(m.score), m.cosine = warp_sum(m.cosine), m.squares = warp_sum(m.squares);
    if (lane == 0) write_means(view, s, h, j, m);
  }
}

// Under a full mask all keys meet the same sums: one thread a key.
template <typename T>
__global__ void __launch_bounds__(kThreads) full_means_kernel(AttentionView view) {
  __shared__ __align__(16) float queries[kMaxD], directions[kMaxD];
  const SequenceView& s = view.sequences[blockIdx.z];
  const int h = blockIdx.y, D = view.D, j = blockIdx.x * kThreads + threadIdx.x;
  if (s.score_means == nullptr || s.block > 0 || blockIdx.x * kThreads >= s.N) return;
  const float* all = s.means_scratch + static_cast<Index>(h) * chunk_count(0, s.T, s.N) * (2 * D + 1);
  if (threadIdx.x < D) {
    queries[threadIdx.x] = all[threadIdx.x];
    directions[threadIdx.x] = all[D + threadIdx.x];
  }
  __syncthreads();
  if (j >= s.N) return;
  const T* key = head_of<T>(s.k, h / (view.H / view.Hkv), D) + j * s.k_stride;
  KeyMeans m{0, 0, 0, all[2 * D]};
  const auto take = [&](float x, int d) {
    m.score = fmaf(queries[d], x, m.score);
    m.cosine = fmaf(directions[d], x, m.cosine);
    m.squares = fmaf(x, x, m.squares);
  };
  int d = 0;
#pragma unroll 4
  for (; d + kVector <= D && D % kVector == 0; d += kVector) {
    float x[kVector];
    load_vector(key + d, x);
#pragma unroll
    for (int i = 0; i < kVector; ++i) take(x[i], d + i);
  }
  for (; d < D; ++d) take(widened(key[d]), d);
  write_means(view, s, h, j, m);
}

template <typename T>
void run_masked_means(const AttentionView& view, const dim3& chunks, cudaStream_t stream) {
  const int shared = (2 * kChunk * view.D + kChunk) * static_cast<int>(sizeof(float));
  allow_shared(masked_means_kernel<T>, shared);
  masked_means_kernel<T><<<chunks, kThreads, shared, stream>>>(view);
  check_launch("column means");
}

template <typename T>
void run_full_means(const AttentionView& view, cudaStream_t stream) {
  const dim3 keys(static_cast<unsigned>(divide_up(view.most_keys, kThreads)), static_cast<unsigned>(view.H),
                  static_cast<unsigned>(view.count));
  full_means_kernel<T><<<keys, kThreads, 0, stream>>>(view);
  check_launch("column means");
}

}  // namespace

Index means_scratch(const AttentionView& view, const SequenceView& s) {
  return Index{view.H} * chunk_count(s.block, s.T, s.N) * (2 * view.D + 1);
}

void run_means(const AttentionView& view, cudaStream_t stream) {
  const auto heads = static_cast<unsigned>(view.H), count = static_cast<unsigned>(view.count);
  const dim3 columns(static_cast<unsigned>(divide_up(2 * view.D + 1, kThreads)), heads, count);
  with_activation_type(view.type, [&](auto type) {
    using T = decltype(type);
    const bool vectors = view.D % kVector == 0 && 32 % (view.D / kVector) == 0;
    const auto sum = vectors ? chunk_sums_kernel<T, kVector> : chunk_sums_kernel<T, kVector + 1>;
    for (const bool full : {false, true}) {
      if ((full ? view.some_full : view.some_masked) == 0) continue;
      const int most = chunk_count(full ? 0 : 1, view.most_queries, view.most_keys);
      const dim3 chunks(static_cast<unsigned>(most), heads, count);
      sum<<<chunks, kThreads, 0, stream>>>(view, full);
      check_launch("sums of queries");
      suffix_kernel<<<columns, kThreads, 0, stream>>>(view, full);
      check_launch("sums of later queries");
      full ? run_full_means<T>(view, stream) : run_masked_means<T>(view, chunks, stream);
    }
  });
}

}  // namespace buoy::cuda
