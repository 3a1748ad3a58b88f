// Float32 rows times bf16 or f16 weights on AMX tiles, without rounding either: a float32 is the sum of three
// bf16, exactly, a bf16 weight is one and a f16 weight the sum of two. Products of parts are exact, their
// sums float32.
#pragma once

#include "buoy/compute/cpu/panel_matmul.h"

namespace buoy {

// Whether the processor has AMX's bf16 tiles, the system lets this process use them, and they multiply as
// they should. Asked once.
bool has_amx();

class AmxMatmul : public PanelMatmul {
 public:
  // How many bf16 a weight is the sum of; 0 for types that take float32's own units (float32: three parts of
  // weights would take more memory than they have).
  static int parts_of(DType weights);

  AmxMatmul(Index K, Index n, int parts);

  std::size_t packed_bytes() const override;
  void pack(const float* rows, void* packed) const override;
  void run(const float* a, Index m, const void* packed, float* c, void* scratch) const override;
  std::size_t scratch_bytes() const override;

 private:
  Index depth_, strips_;  // tiles along K, strips of two tiles along n
  int parts_;
};

}  // namespace buoy
