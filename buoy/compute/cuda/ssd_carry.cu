// Carries what chunks write to the chunks after them: one thread a cell, in the chunks' order.
#include "buoy/compute/cuda/ssd_device.cuh"

namespace buoy::cuda {
namespace {

constexpr int kAhead = 8;  // chunks read at once: the sum waits for the one before, the memory need not

// In the direction in which keys are read, or against it, from the rows that read them.
enum class Order { kAsRead, kAgainst };

// Cell by cell: what stands at a chunk becomes what arrives there. States decay as keys do, matrices of
// energies as their squares.
template <typename T>
__device__ void carry_cell(const SsdView& view, const SsdSequence& s, T* all, int cells, int way,
                           Order order) {
  const int e = blockIdx.x * kSsdThreads + threadIdx.x, h = blockIdx.y;
  if (e >= cells) return;
  const bool rising = (way == kForward) == (order == Order::kAsRead);
  const double* carries = chunk_cells(s.carries, view, s, way, h, 0, 1);
  T carried = 0;
  for (int begin = 0; begin < s.chunks; begin += kAhead) {
    T own[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const int c = rising ? begin + k : s.chunks - 1 - begin - k;
      own[k] = begin + k < s.chunks ? chunk_cells(all, view, s, way, h, c, cells)[e] : 0;
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (begin + k >= s.chunks) continue;
      const int c = rising ? begin + k : s.chunks - 1 - begin - k;
      chunk_cells(all, view, s, way, h, c, cells)[e] = carried;
      const double carry = sizeof(T) == sizeof(double) ? carries[c] * carries[c] : carries[c];
      carried = static_cast<T>(carry) * carried + own[k];
    }
  }
}

__global__ void __launch_bounds__(kSsdThreads) carry_states_kernel(SsdView view) {
  const SsdSequence& s = view.sequences[blockIdx.z / 2];
  const int way = blockIdx.z % 2;
  carry_cell(view, s, s.states, view.n * view.P, way, Order::kAsRead);
  if (s.energy != nullptr) carry_cell(view, s, s.matrices, view.n * view.n, way, Order::kAsRead);
}

__global__ void __launch_bounds__(kSsdThreads) carry_rows_kernel(SsdView view) {
  const SsdSequence& s = view.sequences[blockIdx.z / 2];
  if (s.energy != nullptr) carry_cell(view, s, s.matrices, view.n * view.n, blockIdx.z % 2, Order::kAgainst);
}

template <class Kernel>
void launch(Kernel* kernel, const SsdView& view, int cells, cudaStream_t stream) {
  const dim3 grid = ssd_grid((cells + kSsdThreads - 1) / kSsdThreads, view.H, 2 * view.count);
  kernel<<<grid, kSsdThreads, 0, stream>>>(view);
  check_launch("states carried between chunks");
}

}  // namespace

void carry_states(const SsdView& view, cudaStream_t stream) {
  launch(carry_states_kernel, view, view.n * max(view.n, view.P), stream);
}

void carry_rows(const SsdView& view, cudaStream_t stream) {
  launch(carry_rows_kernel, view, view.n * view.n, stream);
}

}  // namespace buoy::cuda
