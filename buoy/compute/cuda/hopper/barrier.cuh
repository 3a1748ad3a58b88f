// Barriers in shared memory that threads and the copy engine arrive at, and the engine's copies.
#pragma once

#include "buoy/compute/cuda/hopper/tensor_map.h"
#include "buoy/compute/cuda/mma.cuh"

namespace buoy::cuda {

// A turn ends when `arrivals` threads have arrived and the bytes announced have been copied.
class Barrier {
 public:
  __device__ void init(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  // Arrives and announces bytes.
  __device__ void expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes)
                 : "memory");
  }
  // Waits for the end of turn number `turn`, counted from 0; it must be the last or the one before.
  __device__ __forceinline__ void wait(int turn) {
    asm volatile(
        "{\n.reg .pred done;\nagain:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra over;\nbra again;\nover:\n}\n" ::"r"(address()),
        "r"(turn & 1)
        : "memory");
  }
  __device__ unsigned address() const { return shared_address(&word_); }

 private:
  unsigned long long word_;
};

// Barriers that were initialised become visible to the copy engine.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// A description that came by an ordinary copy is read afresh.
__device__ inline void refresh_map(const TensorMap& map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(&map) : "memory");
}

// kRows rows from `row` on and D columns from `column` on into panels of kPanelRows rows, in the background;
// `barrier` must have been told to expect them. The map is one for boxes of kRows.
template <int D, int kRows, int kPanelRows = kRows>
__device__ __forceinline__ void copy_boxes(const TensorMap& map, int column, int row, uint4* to,
                                           Barrier& barrier) {
#pragma unroll
  for (int panel = 0; panel < D / kBoxColumns; ++panel) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
        "%3}], "
        "[%4];" ::"r"(shared_address(to + panel * kPanelRows * 8)),
        "l"(&map), "r"(column + panel * kBoxColumns), "r"(row), "r"(barrier.address())
        : "memory");
  }
}

// Bytes that lie together, a multiple of 16, likewise.
__device__ __forceinline__ void copy_bytes(const void* from, int bytes, void* to, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(barrier.address())
      : "memory");
}

}  // namespace buoy::cuda
