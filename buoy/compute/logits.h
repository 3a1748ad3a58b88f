// What samplers read off one row of logits, on the host.
#pragma once

#include <span>

#include "buoy/compute/backend.h"

namespace buoy {

// One pass for the maximum, one for the sums, in double precision. -inf logits have probability 0.
LogitSummary summarize_row(std::span<const float> logits);

// conditional ← unconditional + (scale + 1)·(conditional − unconditional) for row r, in float32 as the
// families do.
void guide_row(const Tensor& conditional, const Tensor& unconditional, float scale, Index r);

}  // namespace buoy
