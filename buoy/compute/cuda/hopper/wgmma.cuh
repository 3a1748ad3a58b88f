// Tensor cores as Hopper has them: a group of four warps multiplies 64 rows by a tile in shared memory, in
// the background.
#pragma once

#include "buoy/compute/cuda/mma.cuh"

namespace buoy::cuda {

// A tile of rows lies in panels of 64 columns (128 bytes), each aligned to 1024 bytes, its 16-byte chunks
// exchanged by row: what the instruction calls the 128-byte swizzle, and how the copy engine writes it.

// Where an operand lies: groups of eight rows are 1024 bytes apart, panels `panel_bytes`. (For operands whose
// columns are summed over the second is not looked at.)
__device__ inline std::uint64_t describe_tile(const uint4* start, int panel_bytes) {
  const std::uint64_t address = shared_address(start) >> 4 & 0x3fff;
  constexpr std::uint64_t kGroup = 1024 >> 4, kSwizzle128 = 1;
  return address | static_cast<std::uint64_t>(panel_bytes >> 4) << 16 | kGroup << 32 | kSwizzle128 << 62;
}

// The operand `chunks` 16-byte chunks further on.
__device__ inline std::uint64_t tile_at(std::uint64_t tile, int chunks) {
  return tile + static_cast<std::uint64_t>(chunks);
}

// Registers written so far may be used by the products that follow.
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void close_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kLeft>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// Keeps the compiler from looking at sums before they are waited for.
template <int kCount>
__device__ __forceinline__ void settle_sums(float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

// Products of 64 rows. sums[4·n + e] are those of columns 8·n + 2·(lane%4) + e%2 and rows 16·warp + lane/4 +
// 8·(e/2); keep = 0 starts them anew. The left operand lies in registers or in shared memory; the right one
// holds either the columns as its rows (a dot product of rows) or, `by_rows`, one row per summand.
#define BUOY_EIGHT(i)                                                                        \
  "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3]), "+f"(sums[i + 4]), \
      "+f"(sums[i + 5]), "+f"(sums[i + 6]), "+f"(sums[i + 7])

// 128 columns, both operands in shared memory.
__device__ __forceinline__ void multiply_128(float (&sums)[64], std::uint64_t a, std::uint64_t b, int keep) {
  asm volatile(
      "{\n.reg .pred kept;\nsetp.ne.b32 kept, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, "
      "%64, %65, kept, 1, 1, 0, 0;\n}\n"
      : BUOY_EIGHT(0), BUOY_EIGHT(8), BUOY_EIGHT(16), BUOY_EIGHT(24), BUOY_EIGHT(32), BUOY_EIGHT(40),
        BUOY_EIGHT(48), BUOY_EIGHT(56)
      : "l"(a), "l"(b), "r"(keep));
}

// 128 columns, the left operand in registers.
__device__ __forceinline__ void multiply_128_by_rows(float (&sums)[64], const unsigned (&a)[4],
                                                     std::uint64_t b, int keep) {
  asm volatile(
      "{\n.reg .pred kept;\nsetp.ne.b32 kept, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, "
      "{%64, %65, %66, %67}, %68, kept, 1, 1, 1;\n}\n"
      : BUOY_EIGHT(0), BUOY_EIGHT(8), BUOY_EIGHT(16), BUOY_EIGHT(24), BUOY_EIGHT(32), BUOY_EIGHT(40),
        BUOY_EIGHT(48), BUOY_EIGHT(56)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

// 64 columns, the left operand in registers.
__device__ __forceinline__ void multiply_64_by_rows(float (&sums)[32], const unsigned (&a)[4],
                                                    std::uint64_t b, int keep) {
  asm volatile(
      "{\n.reg .pred kept;\nsetp.ne.b32 kept, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, "
      "{%32, %33, %34, %35}, %36, kept, 1, 1, 1;\n}\n"
      : BUOY_EIGHT(0), BUOY_EIGHT(8), BUOY_EIGHT(16), BUOY_EIGHT(24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
}

#undef BUOY_EIGHT

// Shared memory from the first address that panels may start at. (By adding to the pointer, not to its
// number: the compiler must go on knowing that it is shared memory.)
template <class Shared>
__device__ __forceinline__ Shared& aligned_shared(uint4* memory) {
  const unsigned past = shared_address(memory) % 1024;
  return *reinterpret_cast<Shared*>(reinterpret_cast<char*>(memory) + (1024 - past) % 1024);
}
inline constexpr int kAlignmentSlack = 1024;

// What a block of a grid (tiles, heads, sequences) works on. Under a mask tiles differ in work: all heads'
// first tiles begin first, so that where those have most to do little is left to wait for in the end.
// Otherwise tiles of a head begin together: they read the same.
struct BlockPlace {
  int tile, h;
};
__device__ inline BlockPlace place_of_block(const SequenceView& s) {
  if (s.block == 0) return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y)};
  const unsigned number = blockIdx.y * gridDim.x + blockIdx.x;
  return {static_cast<int>(number / gridDim.y), static_cast<int>(number % gridDim.y)};
}

// launch(integral_constant D) for a head size these kernels have.
template <class Launch>
void with_hopper_head_size(int D, const Launch& launch) {
  D == 64 ? launch(std::integral_constant<int, 64>{}) : launch(std::integral_constant<int, 128>{});
}

}  // namespace buoy::cuda
