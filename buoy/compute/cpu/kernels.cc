#include "buoy/compute/cpu/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "buoy/compute/cpu/kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "buoy/compute/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace buoy {
namespace HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;

// Calls body(i, whole vector) for the full vectors of n, then tail(i) for the elements that are left.
template <class Body, class Tail>
HWY_INLINE void for_lanes(Index n, const Body& body, const Tail& tail) {
  const Index lanes = static_cast<Index>(hn::Lanes(F32()));
  Index i = 0;
  for (; i + lanes <= n; i += lanes) body(i);
  for (; i < n; ++i) tail(i);
}

void RmsNormRow(const float* x, const float* weight, Index n, float epsilon, float* out) {
  const F32 d;
  auto sum = hn::Zero(d);
  float rest = 0;
  for_lanes(
      n,
      [&](Index i) {
        const auto v = hn::LoadU(d, x + i);
        sum = hn::MulAdd(v, v, sum);
      },
      [&](Index i) { rest += x[i] * x[i]; });
  const float squares = hn::GetLane(hn::SumOfLanes(d, sum)) + rest;
  const float scale = 1.0f / std::sqrt(squares / static_cast<float>(n) + epsilon);
  const auto scales = hn::Set(d, scale);
  for_lanes(
      n,
      [&](Index i) {
        hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x + i), scales), hn::LoadU(d, weight + i)), d, out + i);
      },
      [&](Index i) { out[i] = x[i] * scale * weight[i]; });
}

void SwigluRow(const float* gate, const float* up, Index n, float* out) {
  const F32 d;
  const auto one = hn::Set(d, 1.0f), limit = hn::Set(d, 88.0f);
  const auto swiglu = [&](auto g, auto u) {
    return hn::Mul(hn::Div(g, hn::Add(one, simd_exp(d, hn::Min(hn::Neg(g), limit)))), u);
  };
  for_lanes(
      n, [&](Index i) { hn::StoreU(swiglu(hn::LoadU(d, gate + i), hn::LoadU(d, up + i)), d, out + i); },
      [&](Index i) { out[i] = hn::GetLane(swiglu(hn::Set(d, gate[i]), hn::Set(d, up[i]))); });
}

void RopeRow(float* x, Index heads, Index D, Index half, const float* cosines, const float* sines) {
  const F32 d;
  for (Index h = 0; h < heads; ++h) {
    float *a = x + h * D, *b = a + half;
    for_lanes(
        half,
        [&](Index i) {
          const auto va = hn::LoadU(d, a + i), vb = hn::LoadU(d, b + i);
          const auto c = hn::LoadU(d, cosines + i), s = hn::LoadU(d, sines + i);
          hn::StoreU(hn::Sub(hn::Mul(va, c), hn::Mul(vb, s)), d, a + i);
          hn::StoreU(hn::Add(hn::Mul(vb, c), hn::Mul(va, s)), d, b + i);
        },
        [&](Index i) {
          const float va = a[i], vb = b[i];
          a[i] = va * cosines[i] - vb * sines[i];
          b[i] = vb * cosines[i] + va * sines[i];
        });
  }
}

void ClipRow(float* x, Index n, float bound, float factor) {
  const F32 d;
  const float limit = bound != 0 ? bound : hwy::HighestValue<float>();
  const auto high = hn::Set(d, limit), low = hn::Set(d, -limit), factors = hn::Set(d, factor);
  for_lanes(
      n,
      [&](Index i) {
        hn::StoreU(hn::Mul(hn::Min(hn::Max(hn::LoadU(d, x + i), low), high), factors), d, x + i);
      },
      [&](Index i) { x[i] = std::min(std::max(x[i], -limit), limit) * factor; });
}

void AddScaledRow(const float* x, float factor, Index n, float* y) {
  const F32 d;
  const auto factors = hn::Set(d, factor);
  for_lanes(
      n,
      [&](Index i) {
        hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::Mul(factors, hn::LoadU(d, x + i))), d, y + i);
      },
      [&](Index i) { y[i] += factor * x[i]; });
}

void StoreRow(const float* x, const float* bias, Index n, float* y) {
  if (bias == nullptr) {
    std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(float));
    return;
  }
  const F32 d;
  for_lanes(
      n, [&](Index i) { hn::StoreU(hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, bias + i)), d, y + i); },
      [&](Index i) { y[i] = x[i] + bias[i]; });
}

void AddRow(const float* x, const float* bias, Index n, float* y) {
  const F32 d;
  for_lanes(
      n, [&](Index i) { hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::LoadU(d, x + i)), d, y + i); },
      [&](Index i) { y[i] += x[i]; });
  if (bias != nullptr) AddRow(bias, nullptr, n, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace buoy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace buoy {

HWY_EXPORT(RmsNormRow);
HWY_EXPORT(SwigluRow);
HWY_EXPORT(RopeRow);
HWY_EXPORT(ClipRow);
HWY_EXPORT(AddScaledRow);
HWY_EXPORT(StoreRow);
HWY_EXPORT(AddRow);

void rms_norm_row(const float* x, const float* weight, Index n, float epsilon, float* out) {
  HWY_DYNAMIC_DISPATCH(RmsNormRow)(x, weight, n, epsilon, out);
}
void swiglu_row(const float* gate, const float* up, Index n, float* out) {
  HWY_DYNAMIC_DISPATCH(SwigluRow)(gate, up, n, out);
}
void rope_row(float* x, Index heads, Index D, Index half, const float* cosines, const float* sines) {
  HWY_DYNAMIC_DISPATCH(RopeRow)(x, heads, D, half, cosines, sines);
}
void clip_row(float* x, Index n, float bound, float factor) {
  HWY_DYNAMIC_DISPATCH(ClipRow)(x, n, bound, factor);
}
void add_scaled_row(const float* x, float factor, Index n, float* y) {
  HWY_DYNAMIC_DISPATCH(AddScaledRow)(x, factor, n, y);
}
void store_row(const float* x, const float* bias, Index n, float* y) {
  HWY_DYNAMIC_DISPATCH(StoreRow)(x, bias, n, y);
}
void add_row(const float* x, const float* bias, Index n, float* y) {
  HWY_DYNAMIC_DISPATCH(AddRow)(x, bias, n, y);
}

}  // namespace buoy
#endif
