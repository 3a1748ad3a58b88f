// The contract of a product with one panel of weights, whatever computes it.
#pragma once

#include <cstddef>

#include "buoy/base/types.h"

namespace buoy {

// C[m, n] = A[m, K]·B[K, n] in float32 for one K and n, m up to kRows, on the calling thread. A row's result
// depends neither on m nor on the rows beside it. Made once, used by any number of threads.
class PanelMatmul {
 public:
  static constexpr Index kRows = 64;

  PanelMatmul(Index K, Index n) : K_(K), n_(n) {}
  virtual ~PanelMatmul() = default;

  // Bytes of B in the packed layout, and the packing itself from rows [n, K] (a weight as checkpoints hold
  // it).
  virtual std::size_t packed_bytes() const = 0;
  virtual void pack(const float* rows, void* packed) const = 0;

  // a: [m, K] packed rows, c: [m, n] packed rows, m <= kRows. `packed` and `scratch`, of scratch_bytes(),
  // begin at a multiple of 64 bytes.
  virtual void run(const float* a, Index m, const void* packed, float* c, void* scratch) const = 0;
  virtual std::size_t scratch_bytes() const = 0;

 protected:
  Index K_, n_;
};

}  // namespace buoy
