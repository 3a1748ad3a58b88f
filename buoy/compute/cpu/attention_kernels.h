// The inner loops of cpu attention, vectorised with runtime dispatch.
//
// A head is worked off in strips: a block of queries against all keys, [rows, N] of scores, which become
// weights in place. Memory per thread is kStripRows·N. Every sum over keys or queries runs in index order, so
// results depend neither on the height of a strip nor on what is recorded.
#pragma once

#include "buoy/base/types.h"

namespace buoy {

inline constexpr Index kStripRows = 24;
inline constexpr Index kKeyPanel = 32;   // keys are packed in panels [D][kKeyPanel]
inline constexpr Index kValueUnit = 16;  // value rows are padded to a multiple of this

inline Index padded_keys(Index N) {
  return (N + kKeyPanel - 1) / kKeyPanel * kKeyPanel;
}
inline Index padded_values(Index D) {
  return (D + kValueUnit - 1) / kValueUnit * kValueUnit;
}
// Off a power of two, so that the rows of a strip do not fight for the same cache sets.
inline Index strip_stride(Index N) {
  return padded_keys(N) + kValueUnit;
}

// Key rows [N, D], `stride` apart → panels, padded with zero keys. Value rows → [N, padded_values(D)].
void pack_keys(const float* keys, Index stride, Index N, Index D, float* packed);
void pack_values(const float* values, Index stride, Index N, Index D, float* packed);

// to[r, :] = from[r, :]·scales[r] for `rows` rows of n.
void scale_rows(const float* from, Index from_stride, Index rows, Index n, const float* scales, float* to,
                Index to_stride);

// strip[r, j] = q_r·k_j for `rows` queries [rows, D] (packed, already scaled) and the keys [0, N).
void score_strip(const float* queries, Index rows, Index D, const float* keys, Index N, float* strip,
                 Index stride);

struct SoftmaxRow {
  float sum = 0;       // Σ 2^(s_j − max) over the visible keys; 0 when none is visible
  float weighted = 0;  // Σ 2^(s_j − max)·(s_j − max), for the entropy
};

// Turns base-2 scores of the first `visible` keys into 2^(s − max) in place and zeroes up to `width`. `bias`
// (natural units, may be null) is added to the scores first. Where a score is NaN or +inf, both sums are NaN.
SoftmaxRow softmax_row(float* scores, const float* bias, Index visible, Index width);

// columns[j] += Σ_r strip[r, j]·inverse[r], rows in order.
void add_columns(const float* strip, Index stride, Index rows, const float* inverse, Index N, float* columns);

// Value rows [N, padded_values(D)], `stride` apart.
struct ValueRows {
  const float* first;
  Index stride;
};

// out[r, :] = Σ_{j<N} strip[r, j]·values[j, :] for `rows` rows; out is [rows, padded_values(D)].
void weigh_values(const float* strip, Index stride, Index rows, Index N, const ValueRows& values, Index D,
                  float* out);

}  // namespace buoy
