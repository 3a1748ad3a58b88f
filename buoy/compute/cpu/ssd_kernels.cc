#include "buoy/compute/cpu/ssd_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "buoy/compute/cpu/ssd_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format off: it must come after them
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include "buoy/compute/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace buoy {
namespace HWY_NAMESPACE {

using F32 = hn::ScalableTag<float>;
using F64 = hn::ScalableTag<double>;
using H32 = hn::Rebind<float, F64>;  // as many floats as there are doubles

// step[j]·exp(reach[j] − at) for one vector of doubles; 0 where the exponent would be above 0.
HWY_INLINE hn::Vec<H32> decays(const SsdLane& lane, Index j, double at) {
  const F64 d;
  const H32 f;
  const auto gap = hn::DemoteTo(f, hn::Sub(hn::LoadU(d, lane.reach + j), hn::Set(d, at)));
  return hn::Mul(hn::LoadU(f, lane.step + j), simd_exp(f, hn::Min(gap, hn::Zero(f))));
}

void FillSsdRow(const SsdRow& about, const SsdLane& forward, const SsdLane& backward, float* row) {
  const H32 f;
  const Index lanes = static_cast<Index>(hn::Lanes(f)), width = static_cast<Index>(hn::Lanes(F32()));
  const Index end = (about.count + width - 1) / width * width;
  for (Index j = 0; j < end; j += lanes) {
    const auto products = hn::LoadU(f, row + j);
    if (j + lanes <= about.i) {
      hn::StoreU(hn::Mul(products, decays(forward, j, about.forward_at)), f, row + j);
    } else if (j > about.i) {
      hn::StoreU(hn::Mul(products, decays(backward, j, about.backward_at)), f, row + j);
    } else {
      HWY_ALIGN float before[HWY_MAX_BYTES / sizeof(float)], after[HWY_MAX_BYTES / sizeof(float)];
      hn::Store(hn::Mul(products, decays(forward, j, about.forward_at)), f, before);
      hn::Store(hn::Mul(products, decays(backward, j, about.backward_at)), f, after);
      for (Index k = 0; k < lanes; ++k) row[j + k] = j + k < about.i ? before[k] : after[k];
      row[about.i] = about.diagonal;
    }
  }
  std::fill(row + about.count, row + end, 0.0f);
}

double SquareRow(const float* row, Index count, float* to) {
  const F64 d;
  const H32 f;
  const Index lanes = static_cast<Index>(hn::Lanes(d)), width = static_cast<Index>(hn::Lanes(F32()));
  const Index end = (count + width - 1) / width * width;
  auto sum = hn::Zero(d);
  for (Index j = 0; j < end; j += lanes) {
    const auto x = hn::LoadU(f, row + j);
    const auto square = hn::Mul(x, x);
    sum = hn::Add(sum, hn::PromoteTo(d, square));
    hn::StoreU(square, f, to + j);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void AddOuter(const float* rows, Index stride, Index count, Index n, const double* scales, double* matrix) {
  const F64 d;
  const Index lanes = static_cast<Index>(hn::Lanes(d)), width = padded_state(n);
  HWY_ALIGN double wide[1032];  // a state is at most 1024
  for (Index r = 0; r < count; ++r) {
    if (scales[r] == 0) continue;
    const float* x = rows + r * stride;
    for (Index b = 0; b < n; ++b) wide[b] = x[b];
    std::fill(wide + n, wide + width, 0.0);
    for (Index a = 0; a < n; ++a) {
      const auto scale = hn::Set(d, scales[r] * x[a]);
      double* to = matrix + a * width;
      for (Index b = 0; b < width; b += lanes)
        hn::StoreU(hn::MulAdd(scale, hn::LoadU(d, wide + b), hn::LoadU(d, to + b)), d, to + b);
    }
  }
}

// Four rows at a time, so that a row of the matrix is loaded once for them.
void AddForms(const float* rows, Index stride, Index count, Index n, const double* matrix,
              const double* scales, double* to) {
  const F64 d;
  const Index lanes = static_cast<Index>(hn::Lanes(d)), width = padded_state(n);
  constexpr Index kRows = 4;
  HWY_ALIGN double wide[kRows][1032];
  for (Index first = 0; first < count; first += kRows) {
    const Index many = std::min(kRows, count - first);
    for (Index r = 0; r < kRows; ++r) {
      const float* x = rows + (first + std::min(r, many - 1)) * stride;
      for (Index b = 0; b < n; ++b) wide[r][b] = x[b];
      std::fill(wide[r] + n, wide[r] + width, 0.0);
    }
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    for (Index b = 0; b < width; b += lanes) {
      auto t0 = hn::Zero(d), t1 = hn::Zero(d), t2 = hn::Zero(d), t3 = hn::Zero(d);
      for (Index a = 0; a < n; ++a) {
        const auto m = hn::LoadU(d, matrix + a * width + b);
        t0 = hn::MulAdd(m, hn::Set(d, wide[0][a]), t0);
        t1 = hn::MulAdd(m, hn::Set(d, wide[1][a]), t1);
        t2 = hn::MulAdd(m, hn::Set(d, wide[2][a]), t2);
        t3 = hn::MulAdd(m, hn::Set(d, wide[3][a]), t3);
      }
      s0 = hn::MulAdd(t0, hn::LoadU(d, wide[0] + b), s0);
      s1 = hn::MulAdd(t1, hn::LoadU(d, wide[1] + b), s1);
      s2 = hn::MulAdd(t2, hn::LoadU(d, wide[2] + b), s2);
      s3 = hn::MulAdd(t3, hn::LoadU(d, wide[3] + b), s3);
    }
    const double forms[kRows] = {hn::GetLane(hn::SumOfLanes(d, s0)), hn::GetLane(hn::SumOfLanes(d, s1)),
                                 hn::GetLane(hn::SumOfLanes(d, s2)), hn::GetLane(hn::SumOfLanes(d, s3))};
    for (Index r = 0; r < many; ++r) to[first + r] += scales[first + r] * (forms[r] < 0 ? 0 : forms[r]);
  }
}

SsdShares TurnIntoShares(float* row, Index count, Implicit implicit) {
  const F32 d;
  const Index lanes = static_cast<Index>(hn::Lanes(d)), end = (count + lanes - 1) / lanes * lanes;
  auto sum = hn::Zero(d);
  for (Index j = 0; j < end; j += lanes) {
    const auto x = hn::LoadU(d, row + j);
    const auto w = implicit == Implicit::kEnergy ? hn::Mul(x, x) : hn::Abs(x);
    sum = hn::Add(sum, w);
    hn::StoreU(w, d, row + j);
  }
  SsdShares shares{.sum = hn::GetLane(hn::SumOfLanes(d, sum))};
  if (shares.sum == 0) return shares;
  if (!std::isfinite(shares.sum)) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    std::fill(row, row + count, kNan);
    return {kNan, kNan, kNan};
  }
  // Divided, not multiplied: the sum may be too small to have an inverse.
  const auto total = hn::Set(d, shares.sum), tiny = hn::Set(d, 1e-30f);
  auto largest = hn::Zero(d), entropy = hn::Zero(d);
  for (Index j = 0; j < end; j += lanes) {
    const auto w = hn::Div(hn::LoadU(d, row + j), total);
    largest = hn::Max(largest, w);
    entropy = hn::NegMulAdd(w, hn::Log(d, hn::Max(w, tiny)), entropy);
    hn::StoreU(w, d, row + j);
  }
  shares.largest = hn::GetLane(hn::MaxOfLanes(d, largest));
  shares.entropy = std::max(0.0f, hn::GetLane(hn::SumOfLanes(d, entropy)));
  return shares;
}

void ConvolveRow(const float* const* rows, const float* const* weights, Index K, const float* bias, Index n,
                 float* out) {
  const F32 d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  const auto one = hn::Set(d, 1.0f), limit = hn::Set(d, 88.0f);
  const auto silu = [&](auto x) { return hn::Div(x, hn::Add(one, simd_exp(d, hn::Min(hn::Neg(x), limit)))); };
  Index c = 0;
  for (; c + lanes <= n; c += lanes) {
    auto sum = hn::LoadU(d, bias + c);
    for (Index k = 0; k < K; ++k) {
      if (rows[k] != nullptr) sum = hn::MulAdd(hn::LoadU(d, weights[k] + c), hn::LoadU(d, rows[k] + c), sum);
    }
    hn::StoreU(silu(sum), d, out + c);
  }
  for (; c < n; ++c) {
    float sum = bias[c];
    for (Index k = 0; k < K; ++k) {
      if (rows[k] != nullptr) sum += weights[k][c] * rows[k][c];
    }
    out[c] = hn::GetLane(silu(hn::Set(d, sum)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace buoy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace buoy {

HWY_EXPORT(FillSsdRow);
HWY_EXPORT(SquareRow);
HWY_EXPORT(AddOuter);
HWY_EXPORT(AddForms);
HWY_EXPORT(TurnIntoShares);
HWY_EXPORT(ConvolveRow);

void fill_ssd_row(const SsdRow& about, const SsdLane& forward, const SsdLane& backward, float* row) {
  HWY_DYNAMIC_DISPATCH(FillSsdRow)(about, forward, backward, row);
}

double square_row(const float* row, Index count, float* to) {
  return HWY_DYNAMIC_DISPATCH(SquareRow)(row, count, to);
}

void add_outer(const float* rows, Index stride, Index count, Index n, const double* scales, double* matrix) {
  HWY_DYNAMIC_DISPATCH(AddOuter)(rows, stride, count, n, scales, matrix);
}

void add_forms(const float* rows, Index stride, Index count, Index n, const double* matrix,
               const double* scales, double* to) {
  HWY_DYNAMIC_DISPATCH(AddForms)(rows, stride, count, n, matrix, scales, to);
}

SsdShares turn_into_shares(float* row, Index count, Implicit implicit) {
  return HWY_DYNAMIC_DISPATCH(TurnIntoShares)(row, count, implicit);
}

void convolve_row(const float* const* rows, const float* const* weights, Index K, const float* bias, Index n,
                  float* out) {
  HWY_DYNAMIC_DISPATCH(ConvolveRow)(rows, weights, K, bias, n, out);
}

}  // namespace buoy
#endif  // HWY_ONCE
