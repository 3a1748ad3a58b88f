// The inner loops of the cpu's state space mixer, vectorised with runtime dispatch. Results depend on the
// arguments alone.
#pragma once

#include "buoy/compute/attention.h"

namespace buoy {

// One direction of a head's decays, from position 0 of a stretch on. Both arrays reach kSsdPadding beyond
// the stretch: steps 0 there, reach the last one.
inline constexpr Index kSsdPadding = 32;
struct SsdLane {
  const float* step;
  const double* reach;
};

// Turns products C_i·B_j, j = 0 … count − 1, into row i of M: times step[j]·exp(reach[j] − reach[i]), of the
// forward lane before position i and of the backward one after it; `diagonal` at i. `i` may lie outside the
// stretch. The row is padded to whole vectors, which become 0 from `count` on.
struct SsdRow {
  Index i, count;
  double forward_at, backward_at;  // reach[i]
  float diagonal;
};
void fill_ssd_row(const SsdRow& about, const SsdLane& forward, const SsdLane& backward, float* row);

// to[j] = row[j]² for whole vectors from 0 to `count`; returns their sum.
double square_row(const float* row, Index count, float* to);

// Symmetric matrices of n×n doubles, rows padded to a multiple of kSsdUnit.
inline constexpr Index kSsdUnit = 8;
inline Index padded_state(Index n) {
  return (n + kSsdUnit - 1) / kSsdUnit * kSsdUnit;
}
// matrix += Σ_r scales[r]·x_r·x_rᵀ for `count` rows of n, `stride` apart.
void add_outer(const float* rows, Index stride, Index count, Index n, const double* scales, double* matrix);
// to[r] += scales[r]·x_rᵀ·matrix·x_r.
void add_forms(const float* rows, Index stride, Index count, Index n, const double* matrix,
               const double* scales, double* to);

// Turns a row of M into implicit attention, in place; `count` whole vectors.
struct SsdShares {
  float sum = 0;      // of squares or magnitudes; 0: the row is empty, NaN: it is not finite
  float largest = 0;  // share
  float entropy = 0;  // nats
};
SsdShares turn_into_shares(float* row, Index count, Implicit implicit);

// out = silu(bias + Σ_k weight[k]·rows[k]) over n columns; a null row counts 0.
void convolve_row(const float* const* rows, const float* const* weights, Index K, const float* bias, Index n,
                  float* out);

}  // namespace buoy
