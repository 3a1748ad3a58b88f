// Tensor cores as Ampere has them: 16×8×16 products of bf16, their operands in shared memory, copies that run
// beside.
#pragma once

#include "buoy/compute/cuda/attention_device.cuh"

namespace buoy::cuda {

// Rows of D bf16 in shared memory. Eight neighbouring rows are read at once, 16 bytes of each; stored plainly
// they would meet in the same banks, so the 16-byte chunks of a row are exchanged by its number.
template <int D>
__device__ int chunk_at(int row, int chunk) {
  constexpr int kChunks = D / kVector;
  return row * kChunks + (kChunks >= 8 ? chunk ^ (row & 7) : chunk ^ (row >> 1 & 3));
}

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// 16 bytes from global to shared memory in the background; zeros when there is nothing to copy.
__device__ inline void copy_chunk_to(unsigned to, const void* from, bool there) {
  const int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ inline void copy_chunk(void* to, const void* from, bool there) {
  copy_chunk_to(shared_address(to), from, there);
}

__device__ inline void close_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int kLeft>
__device__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// Rows of a head into shared memory by all kThreads threads; source(r) < 0: zeros.
template <int D, int kRows, int kThreads, class Source>
__device__ void copy_rows(uint4* to, const Bf16* head, Index stride, const Source& source) {
  constexpr int kChunks = D / kVector;
#pragma unroll
  for (int i = threadIdx.x; i < kRows * kChunks; i += kThreads) {
    const int r = i / kChunks, c = i % kChunks, row = source(r);
    copy_chunk(to + chunk_at<D>(r, c), head + (row < 0 ? 0 : row) * stride + c * kVector, row >= 0);
  }
}

// Four 8×8 matrices; each lane names one row of 16 bytes.
__device__ inline void load_matrices(const uint4* row, unsigned (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

__device__ inline void load_transposed(const uint4* row, unsigned (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

// sum += a·b, a 16×16 and b 16×8. A thread holds sums of rows lane/4 (0, 1) and lane/4 + 8 (2, 3), columns
// 2·(lane%4) and the next.
__device__ inline void multiply_add(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 16 rows from `first` as the left operand, columns 16·step..
template <int D>
__device__ void load_left(const uint4* tile, int first, int step, unsigned (&to)[4]) {
  const int lane = threadIdx.x % 32;
  load_matrices(tile + chunk_at<D>(first + lane % 16, 2 * step + lane / 16), to);
}

// scores [16, 8·kTiles] = left · rowsᵀ, rows of `tile` from 0.
template <int D, int kTiles>
__device__ void score_rows(const unsigned (&left)[D / 16][4], const uint4* tile, float (&scores)[kTiles][4]) {
  const int lane = threadIdx.x % 32, matrix = lane / 8;
#pragma unroll
  for (auto& score : scores) score[0] = score[1] = score[2] = score[3] = 0;
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
#pragma unroll
    for (int n = 0; n < kTiles; n += 2) {
      unsigned b[4];
      load_matrices(tile + chunk_at<D>(8 * n + matrix / 2 * 8 + lane % 8, 2 * step + matrix % 2), b);
      multiply_add(scores[n], left[step], b[0], b[1]);
      multiply_add(scores[n + 1], left[step], b[2], b[3]);
    }
  }
}

// Over the four lanes that share a row.
__device__ inline float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
__device__ inline float quad_sum(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

// launch(integral_constant D) for a head size with tensor cores.
template <class Launch>
void with_head_size(int D, const Launch& launch) {
  if (D == 32) return launch(std::integral_constant<int, 32>{});
  if (D == 64) return launch(std::integral_constant<int, 64>{});
  return launch(std::integral_constant<int, 128>{});
}

}  // namespace buoy::cuda
