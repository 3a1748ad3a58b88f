#include "buoy/compute/cpu/qk_means.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "buoy/compute/cpu/qk_means.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace buoy {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::ScalableTag<double>;
using F32 = hn::Rebind<float, F64>;

// Σ x² over n floats.
double SquaredNorm(const float* x, Index n) {
  const F64 d;
  const F32 f;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  Index i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::PromoteTo(d, hn::LoadU(f, x + i));
    sum = hn::MulAdd(v, v, sum);
  }
  double total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) total += double{x[i]} * x[i];
  return total;
}

// Adds a query to the sum of queries, and its direction to that of directions. Returns its length.
double AddQuery(const float* q, Index n, double* queries, double* directions) {
  const double length = std::sqrt(SquaredNorm(q, n)), inverse = length > 0 ? 1 / length : 0;
  const F64 d;
  const F32 f;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  const auto scale = hn::Set(d, inverse);
  Index i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::PromoteTo(d, hn::LoadU(f, q + i));
    hn::StoreU(hn::Add(hn::LoadU(d, queries + i), v), d, queries + i);
    hn::StoreU(hn::MulAdd(v, scale, hn::LoadU(d, directions + i)), d, directions + i);
  }
  for (; i < n; ++i) {
    queries[i] += q[i];
    directions[i] += q[i] * inverse;
  }
  return length;
}

// a·k and b·k.
void TwoDots(const float* k, Index n, const double* a, const double* b, double* dots) {
  const F64 d;
  const F32 f;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  auto first = hn::Zero(d), second = hn::Zero(d);
  Index i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::PromoteTo(d, hn::LoadU(f, k + i));
    first = hn::MulAdd(v, hn::LoadU(d, a + i), first);
    second = hn::MulAdd(v, hn::LoadU(d, b + i), second);
  }
  dots[0] = hn::GetLane(hn::SumOfLanes(d, first));
  dots[1] = hn::GetLane(hn::SumOfLanes(d, second));
  for (; i < n; ++i) {
    dots[0] += k[i] * a[i];
    dots[1] += k[i] * b[i];
  }
}

// Σ_i q_i·k_j = (Σ_i q_i)·k_j: walking the keys backwards, each step adds the queries that begin to see the
// key.
void MeasureQkMeans(const AttentionArgs& args, const AttentionSequence& s, Index h) {
  const Index D = args.D, N = s.k.rows(), kv = h / (args.H / args.Hkv);
  std::vector<double> queries(static_cast<std::size_t>(D), 0.0), directions(static_cast<std::size_t>(D), 0.0);
  double norms = 0;
  Index first = s.T;
  for (Index j = N - 1; j >= 0; --j) {
    for (const Index sees = std::min(s.T, first_query_seeing(args, s, j)); first > sees;) {
      norms +=
          AddQuery(args.q.row<float>(s.first_row + --first) + h * D, D, queries.data(), directions.data());
    }
    const float* k = s.k.row<float>(j) + kv * D;
    double dots[2];
    TwoDots(k, D, queries.data(), directions.data(), dots);
    const double length = std::sqrt(SquaredNorm(k, D));
    const double count = static_cast<double>(std::max<Index>(1, s.T - first));
    const auto at = static_cast<std::size_t>(h * N + j);
    s.stats->score_means[at] = static_cast<float>(dots[0] / count);
    s.stats->cosine_means[at] = static_cast<float>(length > 0 ? dots[1] / (length * count) : 0);
    s.stats->norm_means[at] = static_cast<float>(norms * length / count);
  }
}

void MeasureNorms(const Tensor& rows, Index D, Index kv, float* norms) {
  const Index N = rows.rows();
  for (Index j = 0; j < N; ++j) {
    norms[kv * N + j] = static_cast<float>(std::sqrt(SquaredNorm(rows.row<float>(j) + kv * D, D)));
  }
}

// Walks the queries in order; each adds the values it is the first to see.
double MeasureUniformNorm(const AttentionArgs& args, const AttentionSequence& s, Index kv) {
  const Index D = args.D;
  std::vector<double> sum(static_cast<std::size_t>(D), 0.0);
  double norms = 0, last = 0;
  Index seen = 0;
  for (Index i = 0; i < s.T; ++i) {
    const Index visible = visible_keys(args, s, i);
    if (visible > seen) {
      for (; seen < visible; ++seen) {
        const float* v = s.v.row<float>(seen) + kv * D;
        for (Index d = 0; d < D; ++d) sum[static_cast<std::size_t>(d)] += v[d];
      }
      double square = 0;
      for (const double x : sum) square += x * x;
      last = std::sqrt(square) / static_cast<double>(seen);
    }
    norms += last;
  }
  return norms / static_cast<double>(std::max<Index>(1, s.T));
}

}  // namespace HWY_NAMESPACE
}  // namespace buoy
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace buoy {

HWY_EXPORT(MeasureQkMeans);
HWY_EXPORT(MeasureNorms);
HWY_EXPORT(MeasureUniformNorm);

void measure_qk_means(const AttentionArgs& args, const AttentionSequence& s, Index h) {
  HWY_DYNAMIC_DISPATCH(MeasureQkMeans)(args, s, h);
}

void measure_value_norms(const AttentionArgs& args, const AttentionSequence& s, Index kv) {
  HWY_DYNAMIC_DISPATCH(MeasureNorms)(s.v, args.D, kv, s.stats->value_norms.data());
  s.stats->uniform_norm[static_cast<std::size_t>(kv)] =
      static_cast<float>(HWY_DYNAMIC_DISPATCH(MeasureUniformNorm)(args, s, kv));
}

void measure_key_norms(const AttentionArgs& args, const AttentionSequence& s, Index kv) {
  HWY_DYNAMIC_DISPATCH(MeasureNorms)(s.k, args.D, kv, s.stats->key_norms.data());
}

}  // namespace buoy
#endif  // HWY_ONCE
