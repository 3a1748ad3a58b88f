#include "buoy/compute/cpu/attention_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

// Arrays of vectors below need vectors of known size.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "buoy/compute/cpu/attention_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "buoy/compute/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace buoy {
namespace HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using V = hn::Vec<F32>;
constexpr Index kLanes = static_cast<Index>(HWY_MAX_BYTES / sizeof(float));
// Accumulators of a tile: 12×2 of 32 registers with AVX-512, 6×2 of 16 elsewhere.
constexpr int kTileRows = kLanes >= 16 ? 12 : 6;

// c[R, NV·lanes] = Σ_k a[r, k]·b[k, :], k in order, one chain of fused multiply-adds per element.
template <int R, int NV>
HWY_INLINE void multiply_tile(const float* HWY_RESTRICT a, Index a_stride, const float* HWY_RESTRICT b,
                              Index b_stride, Index K, float* HWY_RESTRICT c, Index c_stride) {
  const F32 d;
  V sum[R][NV];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < NV; ++v) sum[r][v] = hn::Zero(d);
  }
  for (Index k = 0; k < K; ++k) {
    V row[NV];
    for (int v = 0; v < NV; ++v) row[v] = hn::LoadU(d, b + k * b_stride + v * kLanes);
    for (int r = 0; r < R; ++r) {
      const V scale = hn::Set(d, a[r * a_stride + k]);
      for (int v = 0; v < NV; ++v) sum[r][v] = hn::MulAdd(scale, row[v], sum[r][v]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < NV; ++v) hn::StoreU(sum[r][v], d, c + r * c_stride + v * kLanes);
  }
}

// Any number of rows: whole tiles, then single rows.
template <int NV>
HWY_INLINE void multiply_rows(const float* a, Index a_stride, Index rows, const float* b, Index b_stride,
                              Index K, float* c, Index c_stride) {
  Index r = 0;
  for (; r + kTileRows <= rows; r += kTileRows) {
    multiply_tile<kTileRows, NV>(a + r * a_stride, a_stride, b, b_stride, K, c + r * c_stride, c_stride);
  }
  for (; r + 4 <= rows; r += 4) {
    multiply_tile<4, NV>(a + r * a_stride, a_stride, b, b_stride, K, c + r * c_stride, c_stride);
  }
  for (; r < rows; ++r) {
    multiply_tile<1, NV>(a + r * a_stride, a_stride, b, b_stride, K, c + r * c_stride, c_stride);
  }
}

// kDepth: the head size where it is known to the compiler, else 0.
template <Index kDepth>
HWY_INLINE void score_panels(const float* queries, Index rows, Index D, const float* keys, Index N,
                             float* strip, Index stride) {
  const Index depth = kDepth > 0 ? kDepth : D;
  for (Index first = 0; first < N; first += kKeyPanel) {
    const float* panel = keys + first * depth;
    for (Index v = 0; v < kKeyPanel; v += 2 * kLanes) {
      multiply_rows<2>(queries, depth, rows, panel + v, kKeyPanel, depth, strip + first + v, stride);
    }
  }
}

// to[d, j] = from[j, d] for j and d below 4.
HWY_INLINE void transpose_block(const float* from, Index from_stride, float* to, Index to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (Index d = 0; d < 4; ++d) {
    for (Index j = 0; j < 4; ++j) to[d * to_stride + j] = from[j * from_stride + d];
  }
#else
  const hn::FixedTag<float, 4> d;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_stride);
  const auto c = hn::LoadU(d, from + 2 * from_stride), e = hn::LoadU(d, from + 3 * from_stride);
  const auto low_ac = hn::InterleaveLower(d, a, c), low_be = hn::InterleaveLower(d, b, e);
  const auto high_ac = hn::InterleaveUpper(d, a, c), high_be = hn::InterleaveUpper(d, b, e);
  hn::StoreU(hn::InterleaveLower(d, low_ac, low_be), d, to);
  hn::StoreU(hn::InterleaveUpper(d, low_ac, low_be), d, to + to_stride);
  hn::StoreU(hn::InterleaveLower(d, high_ac, high_be), d, to + 2 * to_stride);
  hn::StoreU(hn::InterleaveUpper(d, high_ac, high_be), d, to + 3 * to_stride);
#endif
}

// Up to kKeyPanel keys.
HWY_INLINE void pack_panel(const float* keys, Index stride, Index count, Index D, float* panel) {
  if (count < kKeyPanel) std::fill(panel, panel + D * kKeyPanel, 0.0f);
  const Index whole_keys = count / 4 * 4, whole_depth = D / 4 * 4;
  for (Index j = 0; j < whole_keys; j += 4) {
    for (Index d = 0; d < whole_depth; d += 4)
      transpose_block(keys + j * stride + d, stride, panel + d * kKeyPanel + j, kKeyPanel);
  }
  for (Index j = 0; j < count; ++j) {
    for (Index d = j < whole_keys ? whole_depth : 0; d < D; ++d)
      panel[d * kKeyPanel + j] = keys[j * stride + d];
  }
}

void PackKeys(const float* keys, Index stride, Index N, Index D, float* packed) {
  for (Index first = 0; first < N; first += kKeyPanel)
    pack_panel(keys + first * stride, stride, std::min(kKeyPanel, N - first), D, packed + first * D);
}

void ScoreStrip(const float* queries, Index rows, Index D, const float* keys, Index N, float* strip,
                Index stride) {
  if (D == 32) return score_panels<32>(queries, rows, D, keys, N, strip, stride);
  if (D == 64) return score_panels<64>(queries, rows, D, keys, N, strip, stride);
  if (D == 128) return score_panels<128>(queries, rows, D, keys, N, strip, stride);
  score_panels<0>(queries, rows, D, keys, N, strip, stride);
}

void WeighValues(const float* strip, Index stride, Index rows, Index N, const ValueRows& values, Index D,
                 float* out) {
  const Index width = padded_values(D);
  Index v = 0;
  for (; v + 2 * kLanes <= width; v += 2 * kLanes) {
    multiply_rows<2>(strip, stride, rows, values.first + v, values.stride, N, out + v, width);
  }
  for (; v < width; v += kLanes)
    multiply_rows<1>(strip, stride, rows, values.first + v, values.stride, N, out + v, width);
}

// Four running maxima: one alone would wait for itself at every step. `n` is a multiple of the lanes.
HWY_INLINE float largest_of(const float* scores, Index n) {
  const F32 d;
  V top[4];
  for (V& t : top) t = hn::Set(d, -std::numeric_limits<float>::infinity());
  Index j = 0;
  for (; j + 4 * kLanes <= n; j += 4 * kLanes) {
    for (int i = 0; i < 4; ++i) top[i] = hn::Max(top[i], hn::LoadU(d, scores + j + i * kLanes));
  }
  for (; j < n; j += kLanes) top[0] = hn::Max(top[0], hn::LoadU(d, scores + j));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(top[0], top[1]), hn::Max(top[2], top[3]))));
}

SoftmaxRow Softmax(float* scores, const float* bias, Index visible, Index width) {
  const F32 d;
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  // Padding the row with -inf lets every loop below run in whole vectors.
  std::fill(scores + visible, scores + width, kMinusInfinity);
  if (bias != nullptr) {
    for (Index j = 0; j < visible; ++j) scores[j] += bias[j] * std::numbers::log2e_v<float>;
  }
  const Index end = (visible + kLanes - 1) / kLanes * kLanes;
  const float top = largest_of(scores, end);
  if (top == kMinusInfinity) {
    const bool hidden = std::none_of(scores, scores + visible, [](float x) { return std::isnan(x); });
    std::fill(scores, scores + width, 0.0f);
    return hidden ? SoftmaxRow{} : SoftmaxRow{kNan, kNan};
  }
  const V shift = hn::Set(d, top), floor = hn::Set(d, kExp2Floor);
  V sum = hn::Zero(d), weighted = hn::Zero(d);
  for (Index j = 0; j < end; j += kLanes) {
    const V relative = hn::Sub(hn::LoadU(d, scores + j), shift);
    // Not -inf, so that 0·x is 0. Max() would do, but may lose a NaN, which `weighted` is to keep.
    const V x = hn::IfThenElse(hn::Lt(relative, floor), floor, relative);
    const V e = simd_exp2(d, x);
    sum = hn::Add(sum, e);
    weighted = hn::MulAdd(e, x, weighted);
    hn::StoreU(e, d, scores + j);
  }
  std::fill(scores + end, scores + width, 0.0f);
  const SoftmaxRow row{hn::GetLane(hn::SumOfLanes(d, sum)), hn::GetLane(hn::SumOfLanes(d, weighted))};
  return std::isnan(row.weighted) ? SoftmaxRow{kNan, kNan} : row;
}

void ScaleRows(const float* from, Index from_stride, Index rows, Index n, const float* scales, float* to,
               Index to_stride) {
  const F32 d;
  for (Index r = 0; r < rows; ++r, from += from_stride, to += to_stride) {
    const V scale = hn::Set(d, scales[r]);
    Index i = 0;
    for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(d, from + i), scale), d, to + i);
    for (; i < n; ++i) to[i] = from[i] * scales[r];
  }
}

template <int R>
HWY_INLINE void add_column_rows(const float* strip, Index stride, const float* inverse, Index N,
                                float* columns) {
  const F32 d;
  V scale[R];
  for (int r = 0; r < R; ++r) scale[r] = hn::Set(d, inverse[r]);
  for (Index j = 0; j < N; j += kLanes) {
    V sum = hn::LoadU(d, columns + j);
    for (int r = 0; r < R; ++r) sum = hn::MulAdd(hn::LoadU(d, strip + r * stride + j), scale[r], sum);
    hn::StoreU(sum, d, columns + j);
  }
}

void AddColumns(const float* strip, Index stride, Index rows, const float* inverse, Index N, float* columns) {
  Index r = 0;
  for (; r + 8 <= rows; r += 8) add_column_rows<8>(strip + r * stride, stride, inverse + r, N, columns);
  for (; r < rows; ++r) add_column_rows<1>(strip + r * stride, stride, inverse + r, N, columns);
}

}  // namespace HWY_NAMESPACE
}  // namespace buoy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace buoy {

HWY_EXPORT(PackKeys);
HWY_EXPORT(ScaleRows);
HWY_EXPORT(ScoreStrip);
HWY_EXPORT(WeighValues);
HWY_EXPORT(Softmax);
HWY_EXPORT(AddColumns);

void pack_keys(const float* keys, Index stride, Index N, Index D, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackKeys)(keys, stride, N, D, packed);
}

void pack_values(const float* values, Index stride, Index N, Index D, float* packed) {
  const Index width = padded_values(D);
  for (Index j = 0; j < N; ++j) {
    std::memcpy(packed + j * width, values + j * stride, static_cast<std::size_t>(D) * sizeof(float));
    std::fill(packed + j * width + D, packed + (j + 1) * width, 0.0f);
  }
}

void scale_rows(const float* from, Index from_stride, Index rows, Index n, const float* scales, float* to,
                Index to_stride) {
  HWY_DYNAMIC_DISPATCH(ScaleRows)(from, from_stride, rows, n, scales, to, to_stride);
}

void score_strip(const float* queries, Index rows, Index D, const float* keys, Index N, float* strip,
                 Index stride) {
  HWY_DYNAMIC_DISPATCH(ScoreStrip)(queries, rows, D, keys, N, strip, stride);
}

SoftmaxRow softmax_row(float* scores, const float* bias, Index visible, Index width) {
  return HWY_DYNAMIC_DISPATCH(Softmax)(scores, bias, visible, width);
}

void add_columns(const float* strip, Index stride, Index rows, const float* inverse, Index N,
                 float* columns) {
  HWY_DYNAMIC_DISPATCH(AddColumns)(strip, stride, rows, inverse, N, columns);
}

void weigh_values(const float* strip, Index stride, Index rows, Index N, const ValueRows& values, Index D,
                  float* out) {
  HWY_DYNAMIC_DISPATCH(WeighValues)(strip, stride, rows, N, values, D, out);
}

}  // namespace buoy
#endif
