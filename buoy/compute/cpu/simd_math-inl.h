// exp for SIMD lanes. Included once per target by the files that dispatch (hence the toggling guard).
#if defined(BUOY_SIMD_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef BUOY_SIMD_MATH_INL_H
#undef BUOY_SIMD_MATH_INL_H
#else
#define BUOY_SIMD_MATH_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace buoy {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp(x), within 2 ulp for x in [-87, 88]; 0 below, not defined above. exp(0) is exactly 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V simd_exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V lowest = hn::Set(d, -87.0f);
  const auto underflows = hn::Lt(x, lowest);
  x = hn::Max(x, lowest);
  // x = n·ln2 + r with |r| <= ln2/2; ln2 in two parts keeps r exact.
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504088896341f)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::Set(d, 1.0f / 5040);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 720));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  return hn::IfThenZeroElse(underflows, hn::Mul(p, hn::BitCast(d, exponent)));
}

// Where simd_exp2 begins to give 0.
constexpr float kExp2Floor = -125.0f;

// 2^x within 2 ulp for kExp2Floor < x <= 0; exactly 0 at kExp2Floor, exactly 1 at 0. Not defined elsewhere.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V simd_exp2(D d, V x) {
  const hn::RebindToSigned<D> di;
  // Adding 1.5·2²³ rounds x to an integer n that then stands in the low bits, ready to be shifted to the
  // exponent.
  const V magic = hn::Set(d, 12582912.0f);
  const V shifted = hn::Add(x, magic);
  const V r = hn::Sub(x, hn::Sub(shifted, magic));
  V p = hn::Set(d, 1.5403530393381609e-4f);  // (ln 2)^k / k!
  p = hn::MulAdd(p, r, hn::Set(d, 1.3333558146428443e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 9.6181291076284772e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.5504108664821580e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 2.4022650695910071e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 6.9314718055994531e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const V e = hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
  return hn::IfThenElseZero(hn::Gt(x, hn::Set(d, kExp2Floor)), e);
}

}  // namespace HWY_NAMESPACE
}  // namespace buoy
HWY_AFTER_NAMESPACE();
#endif
