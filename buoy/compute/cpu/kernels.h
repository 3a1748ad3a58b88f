// Row kernels of the cpu backend, vectorised with runtime dispatch. Results depend on the row alone.
#pragma once

#include "buoy/base/types.h"

namespace buoy {

// out = x / sqrt(mean(x²) + epsilon) · weight.
void rms_norm_row(const float* x, const float* weight, Index n, float epsilon, float* out);

// out = silu(gate)·up.
void swiglu_row(const float* gate, const float* up, Index n, float* out);

// Rotates the half-split pairs of the first 2·half dimensions of `heads` heads of D in place.
void rope_row(float* x, Index heads, Index D, Index half, const float* cosines, const float* sines);

// x ← factor · min(max(x, −bound), bound); bound 0: none.
void clip_row(float* x, Index n, float bound, float factor);

// y += factor · x.
void add_scaled_row(const float* x, float factor, Index n, float* y);

// y (+)= x + bias; bias may be null.
void store_row(const float* x, const float* bias, Index n, float* y);
void add_row(const float* x, const float* bias, Index n, float* y);

}  // namespace buoy
