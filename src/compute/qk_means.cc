#include "compute/qk_means.h"

#include <algorithm>
#include <cmath>

namespace buoy {
namespace {

double norm(const float* x, Index n) {
  double squares = 0;
  for (Index d = 0; d < n; ++d) squares += double{x[d]} * x[d];
  return std::sqrt(squares);
}

void measure_norms(const Tensor& rows, Index D, Index kv, std::vector<float>& norms) {
  const Index N = rows.rows();
  for (Index j = 0; j < N; ++j) {
    norms[static_cast<std::size_t>(kv * N + j)] = static_cast<float>(norm(rows.row<float>(j) + kv * D, D));
  }
}

}  // namespace

// Σ_i q_i·k_j = (Σ_i q_i)·k_j: walking the keys backwards, each step adds the queries that begin to see the
// key.
void measure_qk_means(const AttentionArgs& args, const AttentionSequence& s, Index h) {
  const Index D = args.D, N = s.k.rows(), kv = h / (args.H / args.Hkv);
  const auto width = static_cast<std::size_t>(D);
  std::vector<double> queries(width, 0.0), directions(width, 0.0);
  double norms = 0;
  Index first = s.T;
  for (Index j = N - 1; j >= 0; --j) {
    for (const Index sees = std::min(s.T, first_query_seeing(args, s, j)); first > sees;) {
      const float* q = args.q.row<float>(s.first_row + --first) + h * D;
      const double length = norm(q, D), inverse = length > 0 ? 1 / length : 0;
      norms += length;
      for (std::size_t d = 0; d < width; ++d) {
        queries[d] += q[d];
        directions[d] += q[d] * inverse;
      }
    }
    const float* k = s.k.row<float>(j) + kv * D;
    double score = 0, cosine = 0;
    for (std::size_t d = 0; d < width; ++d) {
      score += queries[d] * k[d];
      cosine += directions[d] * k[d];
    }
    const double length = norm(k, D), count = static_cast<double>(std::max<Index>(1, s.T - first));
    const auto at = static_cast<std::size_t>(h * N + j);
    s.stats->score_means[at] = static_cast<float>(score / count);
    s.stats->cosine_means[at] = static_cast<float>(length > 0 ? cosine / (length * count) : 0);
    s.stats->norm_means[at] = static_cast<float>(norms * length / count);
  }
}

void measure_value_norms(const AttentionArgs& args, const AttentionSequence& s, Index kv) {
  measure_norms(s.v, args.D, kv, s.stats->value_norms);
}

void measure_key_norms(const AttentionArgs& args, const AttentionSequence& s, Index kv) {
  measure_norms(s.k, args.D, kv, s.stats->key_norms);
}

}  // namespace buoy
