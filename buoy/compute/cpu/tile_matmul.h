// oneDNN float32 matmul cut into tiles of fixed shape, so that a row's result does not depend on the rows
// beside it.
#pragma once

#include <string>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/compute/backend.h"
#include "buoy/compute/cpu/dnnl_adapter.h"
#include "buoy/compute/cpu/panel_matmul.h"

namespace buoy {

// Call before anything else touches oneDNN or SIMD dispatch. oneDNN is kept from AMX in any case: float32 has
// no use for it, and on some machines version 2.6 stops at an illegal instruction there. What AMX is good
// for, amx_matmul.h does.
void limit_instructions(Instructions instructions);

// One primitive is made per rung of a ladder of row counts. A smaller rung is used only after it has been
// seen to give the same bits as the largest; otherwise its rows are padded up to the next one that does.
class TileMatmul : public PanelMatmul {
 public:
  TileMatmul(Index K, Index n);

  std::size_t packed_bytes() const override { return packed_bytes_; }
  void pack(const float* rows, void* packed) const override;
  void run(const float* a, Index m, const void* packed, float* c, void* scratch) const override;
  std::size_t scratch_bytes() const override { return scratch_bytes_; }

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

  std::vector<Rung> rungs_;  // largest first
  std::size_t packed_bytes_ = 0, primitive_scratch_bytes_ = 0, scratch_bytes_ = 0;
  std::string implementation_;
};

}  // namespace buoy
