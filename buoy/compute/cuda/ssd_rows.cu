// Rows of a state space mixer's implicit attention, written out: their statistics, the rows themselves, and
// column sums of |M|.
#include "buoy/compute/cuda/ssd_device.cuh"

namespace buoy::cuda {
namespace {

__device__ double share_of(float weight, Implicit implicit) {
  const double w = weight;
  return implicit == Implicit::kEnergy ? w * w : fabs(w);
}

// One row of M against all keys, a tile of kSsdThreads keys at a time.
template <typename T>
struct Row {
  const SsdView& view;
  const SsdSequence& s;
  SsdHead head;
  const float* C;  // in shared memory
  const T* keys;
  int i;

  __device__ Row(const SsdView& v, const SsdSequence& sequence, int h, int row, float* shared)
      : view(v), s(sequence), head(sequence, h), C(shared), i(row) {
    keys = static_cast<const T*>(s.keys) + static_cast<Index>(h) * view.n;
    load_rows<T>(s.reads, s.reads_stride, h, view.n, i, 1, view.n, shared);
    __syncthreads();
  }
  // Before it is divided by the row's sum; 0 past the last key.
  __device__ double operator()(int j) const {
    if (j >= s.N) return 0;
    float product = 0;
    for (int a = 0; a < view.n; ++a) product = fmaf(C[a], widened(keys[j * s.keys_stride + a]), product);
    return share_of(head.entry(i, j, product), s.implicit);
  }
};

template <typename T>
__global__ void __launch_bounds__(kSsdThreads) rows_kernel(SsdView view) {
  extern __shared__ float query[];  // [n]
  __shared__ double parts[kSsdWarps];
  __shared__ float tile[kSsdThreads], best_parts[kSsdWarps];
  __shared__ signed char groups[kSsdThreads];
  __shared__ int key_parts[kSsdWarps];
  const SsdSequence& s = view.sequences[blockIdx.z];
  const int number = blockIdx.x, h = blockIdx.y, tid = threadIdx.x;
  if (number >= s.R) return;
  const Row<T> row(view, s, h, s.rows[number], query);
  double own = 0;
  for (int j = tid; j < s.N; j += kSsdThreads) own += row(j);
  const double sum = block_sum(own, parts), scale = inverse(sum);

  float best = -1, mass = 0;  // mass: of key group `tid`
  int best_key = s.N;
  double entropy = 0;
  for (int first = 0; first < s.N; first += kSsdThreads) {
    const int j = first + tid;
    const auto share = static_cast<float>(row(j) * scale);
    if (j < s.N && share > best) best = share, best_key = j;
    if (share > 0) entropy -= share * log(static_cast<double>(share));
    if (j < s.N && s.matrix != nullptr) s.matrix[(static_cast<Index>(h) * s.R + number) * s.N + j] = share;
    if (s.key_mass == nullptr) continue;
    __syncthreads();  // those before have been read
    tile[tid] = share;
    groups[tid] = j < s.N ? s.key_groups[j] : -1;
    __syncthreads();
    if (tid >= s.key_group_count) continue;
    for (int k = 0; k < kSsdThreads; ++k) mass += groups[k] == tid ? tile[k] : 0.0f;
  }
  if (s.argmax == nullptr) return;
  entropy = block_sum(entropy, parts);
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(~0u, best, step);
    const int key = __shfl_xor_sync(~0u, best_key, step);
    if (other > best || (other == best && key < best_key)) best = other, best_key = key;
  }
  if (tid % 32 == 0) best_parts[tid / 32] = best, key_parts[tid / 32] = best_key;
  __syncthreads();
  const Index at = static_cast<Index>(h) * s.R + number;
  const bool nothing = sum == 0, finite = isfinite(sum);
  if (s.key_mass != nullptr && tid < s.key_group_count)
    s.key_mass[at * s.key_group_count + tid] = nothing ? 0.0f : mass;
  if (tid != 0) return;
  for (int w = 1; w < kSsdWarps; ++w) {
    if (best_parts[w] > best || (best_parts[w] == best && key_parts[w] < best_key))
      best = best_parts[w], best_key = key_parts[w];
  }
  s.argmax[at] = nothing || !finite ? -1 : best_key;
  s.max_weight[at] = nothing ? 0.0f : finite ? best : static_cast<float>(sum - sum);  // NaN shows
  s.entropy[at] = nothing ? 0.0f : finite ? static_cast<float>(entropy) : static_cast<float>(sum - sum);
}

// Σ_j |M_ij| of every row.
template <typename T>
__global__ void __launch_bounds__(kSsdThreads) magnitudes_kernel(SsdView view) {
  extern __shared__ float query[];
  __shared__ double parts[kSsdWarps];
  const SsdSequence& s = view.sequences[blockIdx.z];
  const int i = blockIdx.x, h = blockIdx.y;
  if (s.magnitudes == nullptr || i >= s.N) return;
  const Row<T> row(view, s, h, i, query);
  double own = 0;
  for (int j = threadIdx.x; j < s.N; j += kSsdThreads) own += row(j);
  const double sum = block_sum(own, parts);
  if (threadIdx.x == 0) s.magnitudes[static_cast<Index>(h) * s.N + i] = sum;
}

// A block owns a chunk of keys and goes through all rows, a chunk at a time; one thread a key adds up, so
// that sums have one order.
template <typename T>
__global__ void __launch_bounds__(kSsdThreads) magnitude_columns_kernel(SsdView view) {
  extern __shared__ double shared[];
  const SsdSequence& s = view.sequences[blockIdx.z];
  const int h = blockIdx.y, n = view.n, stride = padded_row(n), G = s.group_count;
  if (s.magnitudes == nullptr || static_cast<int>(blockIdx.x) >= s.chunks) return;
  const SsdChunk mine(s, blockIdx.x);
  const SsdHead head(s, h);
  double* sums = shared;  // [view.most_groups, kSsdChunk]
  float* B = reinterpret_cast<float*>(sums + view.most_groups * kSsdChunk);
  float* C = B + kSsdChunk * stride;
  float* M = C + kSsdChunk * stride;
  for (int e = threadIdx.x; e < G * kSsdChunk; e += kSsdThreads) sums[e] = 0;
  load_rows<T>(s.keys, s.keys_stride, h, n, mine.first, mine.count(), stride, B);
  for (int c = 0; c < s.chunks; ++c) {
    const SsdChunk rows(s, c);
    __syncthreads();
    load_rows<T>(s.reads, s.reads_stride, h, n, rows.first, rows.count(), stride, C);
    __syncthreads();
    fill_tile(head, C, rows.first, rows.count(), B, mine.first, mine.count(), n, stride, M, kTileStride);
    __syncthreads();
    const int j = threadIdx.x;
    if (j >= mine.count()) continue;
    for (int i = 0; i < rows.count(); ++i) {
      const int row = rows.first + i, group = s.query_groups[row];
      if (group < 0) continue;
      const double share = share_of(M[i * kTileStride + j], s.implicit);
      sums[group * kSsdChunk + j] += share * inverse(s.magnitudes[static_cast<Index>(h) * s.N + row]);
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < G * mine.count(); e += kSsdThreads) {
    const int group = e / mine.count(), j = e % mine.count();
    s.column_sums[(static_cast<Index>(h) * G + group) * s.N + mine.first + j] =
        static_cast<float>(sums[group * kSsdChunk + j]);
  }
}

}  // namespace

void run_ssd_rows(const SsdView& view, cudaStream_t stream) {
  const int shared = 4 * view.n;
  with_activation_type(view.type, [&](auto type) {
    rows_kernel<decltype(type)>
        <<<ssd_grid(view.most_asked, view.H, view.count), kSsdThreads, shared, stream>>>(view);
  });
  check_launch("rows of a state space mixer");
}

void run_ssd_magnitudes(const SsdView& view, cudaStream_t stream) {
  const int query = 4 * view.n;
  const int columns =
      8 * view.most_groups * kSsdChunk + 4 * kSsdChunk * (2 * padded_row(view.n) + kTileStride);
  with_activation_type(view.type, [&](auto type) {
    using T = decltype(type);
    magnitudes_kernel<T><<<ssd_grid(view.most_rows, view.H, view.count), kSsdThreads, query, stream>>>(view);
    check_launch("sums of magnitudes");
    allow_shared(magnitude_columns_kernel<T>, columns);
    magnitude_columns_kernel<T>
        <<<ssd_grid(view.most_chunks, view.H, view.count), kSsdThreads, columns, stream>>>(view);
  });
  check_launch("columns of magnitudes");
}

}  // namespace buoy::cuda
