// Column sums of a state space mixer's energies, in linear time: rows of a slot leave Σ_i C_iC_iᵀ·read²/ρ_i
// at their chunk, which is carried to the chunks whose keys they read. One slot after the other, so that
// memory does not grow with them.
#include "buoy/compute/cuda/ssd_device.cuh"

namespace buoy::cuda {
namespace {

// What the rows of one slot leave at their chunk, in either direction.
template <typename T>
__global__ void __launch_bounds__(kSsdThreads) rows_of_slot_kernel(SsdView view, int slot) {
  extern __shared__ double shared[];
  const SsdSequence& s = view.sequences[blockIdx.z / 2];
  const int h = blockIdx.y, way = blockIdx.z % 2, n = view.n;
  if (static_cast<int>(blockIdx.x) >= s.chunks || slot >= s.slot_count) return;
  const SsdChunk chunk(s, blockIdx.x);
  const SsdLane lane = SsdHead(s, h).lanes[way];
  double* scales = shared;
  float* C = reinterpret_cast<float*>(scales + kSsdChunk);
  load_rows<T>(s.reads, s.reads_stride, h, n, chunk.first, chunk.count(), n, C);
  for (int i = threadIdx.x; i < chunk.count(); i += kSsdThreads) {
    const int row = chunk.first + i;
    const double read = chunk.read(lane, way, row);
    scales[i] = s.slots[row] == slot ? read * read * inverse(s.energy[static_cast<Index>(h) * s.N + row]) : 0;
  }
  __syncthreads();
  double* matrix = chunk_cells(s.matrices, view, s, way, h, chunk.number, n * n);
  for (int e = threadIdx.x; e < n * n; e += kSsdThreads) {
    const int a = e / n, b = e % n;
    double sum = 0;
    for (int i = 0; i < chunk.count(); ++i) sum += scales[i] * C[i * n + a] * C[i * n + b];
    matrix[e] = sum;
  }
}

// What the keys of a chunk receive from the rows of one slot: inside the chunk by M written out, from the
// others by the matrices that have arrived.
template <typename T>
__global__ void __launch_bounds__(kSsdThreads) columns_of_slot_kernel(SsdView view, int slot) {
  extern __shared__ double shared[];
  const SsdSequence& s = view.sequences[blockIdx.z];
  const int h = blockIdx.y, n = view.n, stride = padded_row(n);
  if (static_cast<int>(blockIdx.x) >= s.chunks || slot >= s.slot_count) return;
  const SsdChunk chunk(s, blockIdx.x);
  const SsdHead head(s, h);
  double *shares = shared, *lengths = shares + kSsdChunk;  // 1/ρ_i of the slot's rows, ‖C_i‖²/ρ_i
  float* C = reinterpret_cast<float*>(lengths + kSsdChunk);
  float* B = C + kSsdChunk * stride;
  float* M = B + kSsdChunk * stride;
  load_rows<T>(s.reads, s.reads_stride, h, n, chunk.first, chunk.count(), stride, C);
  load_rows<T>(s.keys, s.keys_stride, h, n, chunk.first, chunk.count(), stride, B);
  __syncthreads();
  fill_tile(head, C, chunk.first, chunk.count(), B, chunk.first, chunk.count(), n, stride, M, kTileStride);
  for (int i = threadIdx.x; i < chunk.count(); i += kSsdThreads) {
    const int row = chunk.first + i;
    double square = 0;
    for (int a = 0; a < n; ++a) square += static_cast<double>(C[i * stride + a]) * C[i * stride + a];
    shares[i] = s.slots[row] == slot ? inverse(s.energy[static_cast<Index>(h) * s.N + row]) : 0;
    lengths[i] = shares[i] * square;
  }
  __syncthreads();
  const double* matrices[] = {chunk_cells(s.matrices, view, s, kForward, h, chunk.number, n * n),
                              chunk_cells(s.matrices, view, s, kBackward, h, chunk.number, n * n)};
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int j = warp; j < chunk.count(); j += kSsdWarps) {
    const int key = chunk.first + j;
    double received = 0, reached = 0;
    for (int i = lane; i < chunk.count(); i += 32) {
      const double weight = M[i * kTileStride + j];
      received += shares[i] * weight * weight;
      if (i == j || s.reached == nullptr) continue;
      const int row = chunk.first + i;
      const SsdLane& from = head.lanes[key < row ? kForward : kBackward];
      const double written = from.step[key] * from.decay(key, row);
      reached += lengths[i] * written * written;
    }
    for (int way = 0; way < 2; ++way) {
      const double write = chunk.write(head.lanes[way], way, key);
      double trace = 0;
      for (int a = lane; a < n; a += 32) trace += matrices[way][a * n + a];
      received += write * write * lane_form(matrices[way], B + j * stride, n);
      reached += write * write * trace;  // the trace of C_iC_iᵀ is ‖C_i‖²
    }
    received = warp_sum(received);
    reached = warp_sum(reached);
    if (lane != 0) continue;
    const Index at = static_cast<Index>(h) * s.N + key;
    if (slot < s.slot_groups) {
      s.column_sums[(static_cast<Index>(h) * s.slot_groups + slot) * s.N + key] =
          static_cast<float>(received);
    }
    if (s.received == nullptr) continue;
    s.received[at] = (slot == 0 ? 0 : s.received[at]) + received;
    s.reached[at] = (slot == 0 ? 0 : s.reached[at]) + reached;
  }
}

// Σ_i ‖C_i‖²/ρ_i of a head.
template <typename T>
__global__ void __launch_bounds__(kSsdThreads) queries_kernel(SsdView view) {
  __shared__ double parts[kSsdWarps];
  const SsdSequence& s = view.sequences[blockIdx.y];
  const int h = blockIdx.x;
  if (s.queries == nullptr) return;
  const T* C = static_cast<const T*>(s.reads) + static_cast<Index>(h) * view.n;
  double sum = 0;
  for (int i = threadIdx.x; i < s.N; i += kSsdThreads) {
    double square = 0;
    for (int a = 0; a < view.n; ++a) {
      const double c = widened(C[i * s.reads_stride + a]);
      square += c * c;
    }
    sum += square * inverse(s.energy[static_cast<Index>(h) * s.N + i]);
  }
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) s.queries[h] = sum;
}

// The factors of what columns receive from other rows: fill_ssd_column() in compute/ssd.cc.
template <typename T>
__global__ void __launch_bounds__(kSsdThreads) means_kernel(SsdView view) {
  const SsdSequence& s = view.sequences[blockIdx.z];
  const int j = blockIdx.x * kSsdThreads + threadIdx.x, h = blockIdx.y;
  if (s.queries == nullptr || j >= s.N) return;
  const Index at = static_cast<Index>(h) * s.N + j;
  const SsdHead head(s, h);
  const T* B = static_cast<const T*>(s.keys) + static_cast<Index>(h) * view.n + j * s.keys_stride;
  double key = 0, steps = 0;
  for (int a = 0; a < view.n; ++a) {
    const double b = widened(B[a]);
    key += b * b;
  }
  for (const SsdLane& lane : head.lanes) steps += static_cast<double>(lane.step[j]) * lane.step[j];
  const double own = static_cast<double>(head.diagonal[j]) * head.diagonal[j] * inverse(s.energy[at]);
  const double rows = s.N, others = s.received[at] - own, energy = others < 0 ? 0 : others;
  const double length = sqrt(key * steps), norm = length * sqrt(s.queries[h] / rows),
               score = sqrt(energy / rows);
  const double most = steps * s.queries[h], recency = most > 0 ? sqrt(s.reached[at] / most) : 0;
  s.score_means[at] = static_cast<float>(score);
  s.norm_means[at] = static_cast<float>(norm);
  s.recency_means[at] = static_cast<float>(recency);
  s.cosine_means[at] = static_cast<float>(norm * recency > 0 ? score / (norm * recency) : 0);
  s.key_norms[at] = static_cast<float>(length);
}

template <typename T>
void run_columns(const SsdView& view, cudaStream_t stream) {
  const int rows = kSsdChunk * (8 + 4 * view.n);
  const int columns = kSsdChunk * (2 * 8 + 4 * (2 * padded_row(view.n) + kTileStride));
  allow_shared(rows_of_slot_kernel<T>, rows);
  allow_shared(columns_of_slot_kernel<T>, columns);
  for (int slot = 0; slot < view.most_slots; ++slot) {
    const dim3 both = ssd_grid(view.most_chunks, view.H, 2 * view.count);
    rows_of_slot_kernel<T><<<both, kSsdThreads, rows, stream>>>(view, slot);
    check_launch("rows of a slot");
    carry_rows(view, stream);
    const dim3 chunks = ssd_grid(view.most_chunks, view.H, view.count);
    columns_of_slot_kernel<T><<<chunks, kSsdThreads, columns, stream>>>(view, slot);
    check_launch("columns of a slot");
  }
  queries_kernel<T><<<ssd_grid(view.H, view.count, 1), kSsdThreads, 0, stream>>>(view);
  check_launch("lengths of queries");
  const int blocks = (view.most_rows + kSsdThreads - 1) / kSsdThreads;
  means_kernel<T><<<ssd_grid(blocks, view.H, view.count), kSsdThreads, 0, stream>>>(view);
  check_launch("means of columns");
}

}  // namespace

void run_ssd_columns(const SsdView& view, cudaStream_t stream) {
  with_activation_type(view.type, [&](auto type) { run_columns<decltype(type)>(view, stream); });
}

}  // namespace buoy::cuda
