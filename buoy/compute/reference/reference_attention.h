// Attention written the plain way: one row at a time, sums in double precision.
#pragma once

#include "buoy/compute/attention.h"

namespace buoy {

void reference_attention(const AttentionArgs& args, const Tensor& out);

}  // namespace buoy
