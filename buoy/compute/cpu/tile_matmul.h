// oneDNN float32 matmul cut into tiles of fixed shape, so that a row's result does not depend on the rows
// beside it.
#pragma once

#include <string>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/compute/backend.h"
#include "buoy/compute/cpu/dnnl_adapter.h"

namespace buoy {

// Call before anything else touches oneDNN or SIMD dispatch. AMX stays off in any case: float32 has no use
// for it, and some virtual machines advertise it without supporting it.
void limit_instructions(Instructions instructions);

// C[m, n] = A[m, K]·B[K, n] for one K and n, m up to kRows, on the calling thread.
//
// One primitive is made per rung of a ladder of row counts. A smaller rung is used only after it has been
// seen to give the same bits as the largest; otherwise its rows are padded up to the next one that does.
class TileMatmul {
 public:
  static constexpr Index kRows = 64;

  TileMatmul(Index K, Index n);

  // Bytes of B in the packed layout, and the packing itself from rows [n, K] (a weight as checkpoints hold
  // it).
  std::size_t packed_bytes() const { return packed_bytes_; }
  void pack(const float* rows, void* packed) const;

  // a: [m, K] packed rows, c: [m, n] packed rows, m <= kRows. `scratch` must have scratch_bytes().
  void run(const float* a, Index m, const void* packed, float* c, void* scratch) const;
  std::size_t scratch_bytes() const { return scratch_bytes_; }

  Index K() const { return K_; }
  Index n() const { return n_; }
  const std::string& implementation() const { return implementation_; }

 private:
  struct Rung {
    Index rows;
    dnnl::matmul::primitive_desc description;
    dnnl::matmul primitive;
  };
  void execute(const Rung& rung, const float* a, const void* packed, float* c, void* scratch) const;
  void run_padded(const Rung& rung, const float* a, Index m, const void* packed, float* c,
                  void* scratch) const;
  void keep_trustworthy_rungs();

  Index K_, n_;
  std::vector<Rung> rungs_;  // largest first
  std::size_t packed_bytes_ = 0, primitive_scratch_bytes_ = 0, scratch_bytes_ = 0;
  std::string implementation_;
};

}  // namespace buoy
