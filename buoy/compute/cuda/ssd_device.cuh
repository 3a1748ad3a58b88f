// What the kernels of state space mixers share: one head of a sequence, chunks of it, entries of M.
#pragma once

#include "buoy/compute/cuda/attention_device.cuh"
#include "buoy/compute/cuda/ssd_params.h"

namespace buoy::cuda {

inline constexpr int kSsdThreads = 256, kSsdWarps = kSsdThreads / 32;

__device__ inline double warp_sum(double x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

// Sum over a block of kSsdThreads, the same in every thread. `parts` [kSsdWarps] may be used again at once.
__device__ inline double block_sum(double x, double* parts) {
  x = warp_sum(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  double total = 0;
  for (int w = 0; w < kSsdWarps; ++w) total += parts[w];
  return total;
}

__device__ inline double inverse(double energy) {
  return energy == 0 ? 0 : 1 / energy;
}

// A direction of one head.
struct SsdLane {
  const float* step;
  const double* reach;
  __device__ double decay(int from, int to) const { return exp(reach[from] - reach[to]); }
};

struct SsdHead {
  SsdLane lanes[2];
  const float* diagonal;

  __device__ SsdHead(const SsdSequence& s, int h) : diagonal(s.diagonal + static_cast<Index>(h) * s.N) {
    for (int way = 0; way < 2; ++way) {
      lanes[way] = {s.lanes[way].step + static_cast<Index>(h) * s.N,
                    s.lanes[way].reach + static_cast<Index>(h) * (s.N + 1)};
    }
  }

  // M_ij from C_i·B_j. The exponent is a difference of doubles: both may be large.
  __device__ float entry(int i, int j, float product) const {
    if (i == j) return diagonal[i];
    // Not lanes[…]: an index known only here would move the lanes out of the registers.
    const double* reach = j < i ? lanes[kForward].reach : lanes[kBackward].reach;
    const float* step = j < i ? lanes[kForward].step : lanes[kBackward].step;
    return product * step[j] * expf(static_cast<float>(reach[j] - reach[i]));
  }
};

// Rows [first, last) of one chunk. What it hands on in a direction is worth what it is at its far end (`on`);
// what it is handed, at its near one (`handed`).
struct SsdChunk {
  int number, first, last;
  __device__ SsdChunk(const SsdSequence& s, int c)
      : number(c), first(c * kSsdChunk), last(min(s.N, (c + 1) * kSsdChunk)) {}
  __device__ int count() const { return last - first; }
  __device__ int handed(int way) const { return way == kForward ? max(0, first - 1) : last; }
  __device__ int on(int way) const { return way == kForward ? last - 1 : first; }
  // Between chunks, what row j wrote is read at row i with write(j)·carries·read(i).
  __device__ double read(const SsdLane& lane, int way, int i) const { return lane.decay(handed(way), i); }
  __device__ double write(const SsdLane& lane, int way, int j) const {
    return lane.decay(j, on(way)) * lane.step[j];
  }
  __device__ double carry(const SsdLane& lane, int way) const { return lane.decay(handed(way), on(way)); }
};

// Where a chunk's state, or matrix, of `cells` lies.
template <typename T>
__device__ T* chunk_cells(T* all, const SsdView& view, const SsdSequence& s, int way, int h, int chunk,
                          int cells) {
  return all + (((static_cast<Index>(way) * view.H + h) * s.chunks) + chunk) * cells;
}

// `count` rows of a head from `first` on → [count, width] in shared memory, rows `stride` apart.
template <typename T>
__device__ void load_rows(const void* from, Index from_stride, int h, int width, int first, int count,
                          int stride, float* to) {
  const T* head = static_cast<const T*>(from) + static_cast<Index>(h) * width;
  for (int e = threadIdx.x; e < count * width; e += kSsdThreads) {
    const int r = e / width, c = e % width;
    to[r * stride + c] = widened(head[(first + r) * from_stride + c]);
  }
}

__device__ inline float dot_rows(const float* a, const float* b, int n) {
  float sum = 0;
  for (int c = 0; c < n; ++c) sum = fmaf(a[c], b[c], sum);
  return sum;
}

// M between rows [i0, i0 + rows) and keys [j0, j0 + keys), from C and B in shared memory with rows `stride`
// apart.
__device__ inline void fill_tile(const SsdHead& head, const float* C, int i0, int rows, const float* B,
                                 int j0, int keys, int n, int stride, float* tile, int tile_stride) {
  for (int e = threadIdx.x; e < rows * keys; e += kSsdThreads) {
    const int i = e / keys, j = e % keys;
    tile[i * tile_stride + j] = head.entry(i0 + i, j0 + j, dot_rows(C + i * stride, B + j * stride, n));
  }
}

// A lane's part of xᵀ·matrix·x.
__device__ inline double lane_form(const double* matrix, const float* x, int n) {
  double form = 0;
  for (int b = threadIdx.x % 32; b < n; b += 32) {
    double column = 0;
    for (int a = 0; a < n; ++a) column += matrix[a * n + b] * x[a];
    form += column * x[b];
  }
  return form;
}

// Rows of C, B and M are off a multiple of 32 floats, so that a column's cells lie in different banks.
__device__ __host__ inline int padded_row(int width) {
  return width | 1;
}
inline constexpr int kTileStride = kSsdChunk + 1;

inline dim3 ssd_grid(int x, int y, int z) {
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
}

}  // namespace buoy::cuda
