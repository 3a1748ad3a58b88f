// The scan of a state space mixer: chunks are written out side by side, a state is carried from one to the
// next.
#include "buoy/compute/cuda/ssd_device.cuh"

namespace buoy::cuda {
namespace {

__device__ double softplus(double x) {
  return x > 30 ? x : log1p(exp(x));
}

// One block a head: each thread adds up a stretch of its own, then knows from the others' sums where it
// begins.
template <typename T>
__global__ void __launch_bounds__(kSsdThreads) gates_kernel(SsdView view) {
  __shared__ double sums[2][kSsdThreads + 1];
  const SsdSequence& s = view.sequences[blockIdx.y];
  const int h = blockIdx.x, H = view.H, N = s.N, tid = threadIdx.x;
  if (N == 0) return;
  const int stretch = (N + kSsdThreads - 1) / kSsdThreads;
  const int begin = min(N, tid * stretch), end = min(N, begin + stretch);
  const double rates[] = {exp(static_cast<double>(view.a_log[h])),
                          exp(static_cast<double>(view.a_log[H + h]))};
  const T* gates = static_cast<const T*>(s.gates) + h;
  const auto step_of = [&](int way, int i) {
    return softplus(static_cast<double>(widened(gates[i * s.gates_stride + way * H])) +
                    view.dt_bias[way * H + h]);
  };
  const auto diagonal_of = [&](int i) { return widened(gates[i * s.gates_stride + 2 * H]) + view.skip[h]; };

  double own[2] = {0, 0};
  bool finite = true;
  for (int i = begin; i < end; ++i) {
    for (int way = 0; way < 2; ++way) own[way] += rates[way] * step_of(way, i);
    finite = finite && isfinite(diagonal_of(i));
  }
  for (int way = 0; way < 2; ++way) sums[way][tid] = own[way];
  __syncthreads();
  if (tid < 2) {
    double total = 0;
    for (int t = 0; t < kSsdThreads; ++t) {
      const double here = sums[tid][t];
      sums[tid][t] = total;
      total += here;
    }
    sums[tid][kSsdThreads] = total;
  }
  __syncthreads();
  finite = finite && isfinite(sums[0][kSsdThreads]) && isfinite(sums[1][kSsdThreads]);
  const bool whole = __syncthreads_and(finite ? 1 : 0) != 0;

  float* steps[] = {s.lanes[0].step + static_cast<Index>(h) * N, s.lanes[1].step + static_cast<Index>(h) * N};
  double* reach[] = {s.lanes[0].reach + static_cast<Index>(h) * (N + 1),
                     s.lanes[1].reach + static_cast<Index>(h) * (N + 1)};
  float* diagonal = s.diagonal + static_cast<Index>(h) * N;
  double at[] = {sums[0][tid], sums[1][tid]};
  for (int i = begin; i < end; ++i) {
    const bool hidden = s.key_bias != nullptr && s.key_bias[static_cast<Index>(h) * s.bias_stride + i] != 0;
    const double step[] = {step_of(kForward, i), step_of(kBackward, i)};
    at[kForward] += rates[kForward] * step[kForward];
    reach[kForward][i] = whole ? at[kForward] : 0;
    reach[kBackward][i] = whole ? -at[kBackward] : 0;
    at[kBackward] += rates[kBackward] * step[kBackward];
    for (int way = 0; way < 2; ++way) steps[way][i] = whole && !hidden ? static_cast<float>(step[way]) : 0.0f;
    diagonal[i] = whole ? diagonal_of(i) : __int_as_float(0x7fffffff);  // NaN: every row shows it
  }
  if (tid == 0) {
    reach[kForward][N] = whole ? sums[kForward][kSsdThreads] : 0;
    reach[kBackward][N] = whole ? -sums[kBackward][kSsdThreads] : 0;
  }
}

// What a chunk writes for the chunks after it, in either direction: Σ_j write_j·B_j·v_jᵀ, and of the energies
// Σ_j write_j²·B_j·B_jᵀ.
template <typename T>
__global__ void __launch_bounds__(kSsdThreads) states_kernel(SsdView view) {
  extern __shared__ double shared[];
  const SsdSequence& s = view.sequences[blockIdx.z / 2];
  const int h = blockIdx.y, way = blockIdx.z % 2, n = view.n, P = view.P;
  if (static_cast<int>(blockIdx.x) >= s.chunks) return;
  const SsdChunk chunk(s, blockIdx.x);
  const SsdHead head(s, h);
  double* writes = shared;
  float* B = reinterpret_cast<float*>(writes + kSsdChunk);
  float* v = B + kSsdChunk * n;
  load_rows<T>(s.keys, s.keys_stride, h, n, chunk.first, chunk.count(), n, B);
  load_rows<T>(s.values, s.values_stride, h, P, chunk.first, chunk.count(), P, v);
  for (int j = threadIdx.x; j < chunk.count(); j += kSsdThreads)
    writes[j] = chunk.write(head.lanes[way], way, chunk.first + j);
  if (threadIdx.x == 0)
    *chunk_cells(s.carries, view, s, way, h, chunk.number, 1) = chunk.carry(head.lanes[way], way);
  __syncthreads();
  float* state = chunk_cells(s.states, view, s, way, h, chunk.number, n * P);
  for (int e = threadIdx.x; e < n * P; e += kSsdThreads) {
    const int a = e / P, d = e % P;
    float sum = 0;
    for (int j = 0; j < chunk.count(); ++j)
      sum = fmaf(static_cast<float>(writes[j]) * B[j * n + a], v[j * P + d], sum);
    state[e] = sum;
  }
  if (s.energy == nullptr) return;
  double* matrix = chunk_cells(s.matrices, view, s, way, h, chunk.number, n * n);
  for (int e = threadIdx.x; e < n * n; e += kSsdThreads) {
    const int a = e / n, b = e % n;
    double sum = 0;
    for (int j = 0; j < chunk.count(); ++j) sum += writes[j] * writes[j] * B[j * n + a] * B[j * n + b];
    matrix[e] = sum;
  }
}

// M inside the chunk times its values, and what the states that arrive give: y, ‖y‖ and ρ.
template <typename T>
__global__ void __launch_bounds__(kSsdThreads) outputs_kernel(SsdView view) {
  extern __shared__ double shared[];
  const SsdSequence& s = view.sequences[blockIdx.z];
  const int h = blockIdx.y, n = view.n, P = view.P, stride = padded_row(n);
  if (static_cast<int>(blockIdx.x) >= s.chunks) return;
  const SsdChunk chunk(s, blockIdx.x);
  const SsdHead head(s, h);
  double(*reads)[kSsdChunk] = reinterpret_cast<double(*)[kSsdChunk]>(shared);  // [2][kSsdChunk]
  float* C = reinterpret_cast<float*>(reads + 2);
  float* B = C + kSsdChunk * stride;
  float* v = B + kSsdChunk * stride;
  float* y = v + kSsdChunk * P;
  float* M = y + kSsdChunk * P;
  load_rows<T>(s.reads, s.reads_stride, h, n, chunk.first, chunk.count(), stride, C);
  load_rows<T>(s.keys, s.keys_stride, h, n, chunk.first, chunk.count(), stride, B);
  load_rows<T>(s.values, s.values_stride, h, P, chunk.first, chunk.count(), P, v);
  for (int e = threadIdx.x; e < 2 * chunk.count(); e += kSsdThreads) {
    const int way = e % 2, i = e / 2;
    reads[way][i] = chunk.read(head.lanes[way], way, chunk.first + i);
  }
  __syncthreads();
  fill_tile(head, C, chunk.first, chunk.count(), B, chunk.first, chunk.count(), n, stride, M, kTileStride);
  __syncthreads();
  const float* arrived[] = {chunk_cells(s.states, view, s, kForward, h, chunk.number, n * P),
                            chunk_cells(s.states, view, s, kBackward, h, chunk.number, n * P)};
  const float gain = s.head_gain == nullptr ? 1.0f : s.head_gain[h];
  T* out = static_cast<T*>(s.out) + static_cast<Index>(h) * P;
  for (int e = threadIdx.x; e < chunk.count() * P; e += kSsdThreads) {
    const int i = e / P, d = e % P;
    float sum = 0;
    for (int j = 0; j < chunk.count(); ++j) sum = fmaf(M[i * kTileStride + j], v[j * P + d], sum);
    for (int way = 0; way < 2; ++way) {
      float carried = 0;
      for (int a = 0; a < n; ++a) carried = fmaf(C[i * stride + a], arrived[way][a * P + d], carried);
      sum = fmaf(static_cast<float>(reads[way][i]), carried, sum);
    }
    y[e] = sum;
    out[(chunk.first + i) * s.out_stride + d] = narrowed<T>(sum * gain);
  }
  if (s.energy == nullptr && s.output_norms == nullptr) return;
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = warp; i < chunk.count(); i += kSsdWarps) {
    const Index at = static_cast<Index>(h) * s.N + chunk.first + i;
    double squares = 0, energy = 0;
    for (int d = lane; d < P; d += 32) squares += static_cast<double>(y[i * P + d]) * y[i * P + d];
    squares = warp_sum(squares);
    if (s.output_norms != nullptr && lane == 0) s.output_norms[at] = static_cast<float>(sqrt(squares));
    if (s.energy == nullptr) continue;
    for (int j = lane; j < chunk.count(); j += 32)
      energy += static_cast<double>(M[i * kTileStride + j]) * M[i * kTileStride + j];
    for (int way = 0; way < 2; ++way) {
      const double* matrix = chunk_cells(s.matrices, view, s, way, h, chunk.number, n * n);
      energy += reads[way][i] * reads[way][i] * lane_form(matrix, C + i * stride, n);
    }
    energy = warp_sum(energy);
    if (lane == 0) s.energy[at] = energy;
  }
}

int states_shared(const SsdView& view) {
  return kSsdChunk * (8 + 4 * (view.n + view.P));
}

int outputs_shared(Index n, Index P) {
  return static_cast<int>(2 * kSsdChunk * 8 +
                          4 * kSsdChunk * (2 * padded_row(static_cast<int>(n)) + 2 * P + kTileStride));
}

}  // namespace

bool ssd_fits(Index n, Index P) {
  constexpr Index kRoom = 96 * 1024,
                  kMost = 256;  // of a block on any card from Ampere on; columns of run_value_norms()
  return n <= kMost && P <= kMost && outputs_shared(n, P) <= kRoom;
}

void run_ssd_scan(const SsdView& view, cudaStream_t stream) {
  with_activation_type(view.gates_type, [&](auto type) {
    gates_kernel<decltype(type)><<<ssd_grid(view.H, view.count, 1), kSsdThreads, 0, stream>>>(view);
  });
  check_launch("gates of a state space mixer");
  const int states = states_shared(view), outputs = outputs_shared(view.n, view.P);
  with_activation_type(view.type, [&](auto type) {
    using T = decltype(type);
    allow_shared(states_kernel<T>, states);
    states_kernel<T>
        <<<ssd_grid(view.most_chunks, view.H, 2 * view.count), kSsdThreads, states, stream>>>(view);
  });
  check_launch("states of a state space mixer");
  carry_states(view, stream);
  with_activation_type(view.type, [&](auto type) {
    using T = decltype(type);
    allow_shared(outputs_kernel<T>, outputs);
    outputs_kernel<T><<<ssd_grid(view.most_chunks, view.H, view.count), kSsdThreads, outputs, stream>>>(view);
  });
  check_launch("outputs of a state space mixer");
}

}  // namespace buoy::cuda
