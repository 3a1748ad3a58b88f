#include "buoy/compute/reference/reference_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "buoy/compute/reference/reference_rows.h"

namespace buoy {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// Row i of A; all zero when no key is visible.
std::vector<double> attention_row(const ReferenceHead& head, Index i) {
  std::vector<double> row(static_cast<std::size_t>(head.N), 0.0);
  const auto visible = static_cast<std::size_t>(head.visible(i));
  std::vector<double> scores(visible);
  const double root = std::sqrt(static_cast<double>(head.args.D)) / head.args.factor;
  double largest = kMinusInfinity;
  for (std::size_t j = 0; j < visible; ++j) {
    const auto key = static_cast<Index>(j);
    scores[j] = dot(head.query(i), head.key(key), head.args.D) / root + head.bias(key);
    largest = std::max(largest, scores[j]);
  }
  const bool finite = std::ranges::none_of(scores, [](double x) { return std::isnan(x); });
  if (largest == kMinusInfinity && finite) return row;
  double total = 0;
  for (std::size_t j = 0; j < visible; ++j) total += row[j] = std::exp(scores[j] - largest);
  for (std::size_t j = 0; j < visible; ++j) row[j] /= total;
  return row;
}

void measure_qk_means(const ReferenceHead& head) {
  AttentionStats& stats = *head.s.stats;
  const Index D = head.args.D;
  for (Index j = 0; j < head.N; ++j) {
    double score = 0, cosine = 0, product = 0;
    const Index first = first_query_seeing(head.args, head.s, j);
    const double key_norm = norm(head.key(j), D);
    for (Index i = first; i < head.s.T; ++i) {
      const double query_norm = norm(head.query(i), D);
      const double s = dot(head.query(i), head.key(j), D);
      score += s;
      product += query_norm * key_norm;
      if (query_norm * key_norm > 0) cosine += s / (query_norm * key_norm);
    }
    const double count = static_cast<double>(std::max<Index>(1, head.s.T - first));
    const auto at = static_cast<std::size_t>(head.h * head.N + j);
    stats.score_means[at] = static_cast<float>(score / count);
    stats.cosine_means[at] = static_cast<float>(cosine / count);
    stats.norm_means[at] = static_cast<float>(product / count);
    stats.key_norms[static_cast<std::size_t>(head.kv * head.N + j)] = static_cast<float>(key_norm);
  }
}

void run_head(const ReferenceHead& head, const Tensor& out) {
  ReferenceSums sums(head);
  for (Index i = 0; i < head.s.T; ++i) {
    const std::vector<double> row = attention_row(head, i);
    if (head.s.request != nullptr) record_row(head, i, row, sums);
    weigh_row(head, i, row, out, sums);
  }
  if (head.s.request == nullptr) return;
  store_sums(head, sums);
  if (head.s.request->qk_means) measure_qk_means(head);
}

}  // namespace

void reference_attention(const AttentionArgs& args, const Tensor& out) {
  check_attention(args, out);
  for (const AttentionSequence& s : args.sequences) {
    if (s.request != nullptr) prepare_stats(args, s);
    if (s.request != nullptr && s.request->states) copy_states(args, s);
    std::vector<double> row_sums(s.request != nullptr ? s.stats->row_means.size() : 0, 0.0);
    for (Index h = 0; h < args.H; ++h) {
      const Index kv = h / (args.H / args.Hkv);
      run_head({.args = args, .s = s, .h = h, .kv = kv, .N = s.k.rows(), .P = args.D, .row_sums = row_sums},
               out);
    }
    store_row_means(s, args.H, row_sums);
  }
}

}  // namespace buoy
