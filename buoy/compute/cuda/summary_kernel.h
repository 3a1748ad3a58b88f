// What samplers read off rows of logits, on the card.
#pragma once

#include <cuda_runtime_api.h>

#include "buoy/base/types.h"

namespace buoy::cuda {

struct RowSummary {
  double probability, margin, entropy;
  Index best;
};

// One summary per row of float32 logits, as LogitSummary of backend.h says.
void summarize_rows(const float* logits, Index stride, Index rows, Index V, RowSummary* out,
                    cudaStream_t stream);

}  // namespace buoy::cuda
