// The state space mixer written out: every row of M by itself, N×N, sums in double precision.
#pragma once

#include "buoy/compute/ssd.h"

namespace buoy {

void reference_ssd(const SsdArgs& args, const Tensor& out);
void reference_convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                        const Tensor& out);

}  // namespace buoy
