#include "buoy/compute/reference/reference_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace buoy {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// One head of one sequence, with the small accessors the loops below share.
struct Head {
  const AttentionArgs& args;
  const AttentionSequence& s;
  Index h, kv, N;
  std::vector<double>& row_sums;  // [rows, N] over the heads so far, where row_means is asked for

  const float* query(Index i) const { return args.q.row<float>(s.first_row + i) + h * args.D; }
  const float* key(Index j) const { return s.k.row<float>(j) + kv * args.D; }
  const float* value(Index j) const { return s.v.row<float>(j) + kv * args.D; }
  double bias(Index j) const {
    if (s.key_bias.empty()) return 0;
    return s.key_bias[static_cast<std::size_t>(std::ssize(s.key_bias) == N ? j : h * N + j)];
  }
  Index visible(Index i) const { return visible_keys(args, s, i); }
};

double dot(const float* a, const float* b, Index n) {
  double sum = 0;
  for (Index d = 0; d < n; ++d) sum += double{a[d]} * b[d];
  return sum;
}

double norm(const float* a, Index n) {
  return std::sqrt(dot(a, a, n));
}

// Row i of A; all zero when no key is visible.
std::vector<double> attention_row(const Head& head, Index i) {
  std::vector<double> row(static_cast<std::size_t>(head.N), 0.0);
  const auto visible = static_cast<std::size_t>(head.visible(i));
  std::vector<double> scores(visible);
  double largest = kMinusInfinity;
  for (std::size_t j = 0; j < visible; ++j) {
    const auto key = static_cast<Index>(j);
    scores[j] = dot(head.query(i), head.key(key), head.args.D) / std::sqrt(static_cast<double>(head.args.D)) +
                head.bias(key);
    largest = std::max(largest, scores[j]);
  }
  const bool finite = std::ranges::none_of(scores, [](double x) { return std::isnan(x); });
  if (largest == kMinusInfinity && finite) return row;
  double total = 0;
  for (std::size_t j = 0; j < visible; ++j) total += row[j] = std::exp(scores[j] - largest);
  for (std::size_t j = 0; j < visible; ++j) row[j] /= total;
  return row;
}

void record_row(const Head& head, Index i, const std::vector<double>& row, std::vector<double>& columns) {
  const AttentionRequest& want = *head.s.request;
  AttentionStats& stats = *head.s.stats;
  const auto N = static_cast<std::size_t>(head.N);
  if (!want.query_groups.empty() && want.query_groups[static_cast<std::size_t>(i)] >= 0) {
    const auto group = static_cast<std::size_t>(want.query_groups[static_cast<std::size_t>(i)]);
    for (std::size_t j = 0; j < N; ++j) columns[group * N + j] += row[j];
  }
  if (want.matrix) {
    const auto base = static_cast<std::size_t>((head.h * head.s.T + i) * head.N);
    for (std::size_t j = 0; j < N; ++j) stats.matrix[base + j] = static_cast<float>(row[j]);
  }
  for (std::size_t r = 0; r < want.rows.size(); ++r) {
    if (want.rows[r] != i) continue;
    if (want.row_means) {
      for (std::size_t j = 0; j < N; ++j) head.row_sums[r * N + j] += row[j];
    }
    const std::size_t at = static_cast<std::size_t>(head.h) * want.rows.size() + r;
    double entropy = 0;
    for (std::size_t j = 0; j < N; ++j) {
      if (row[j] != 0) entropy -= row[j] * std::log(row[j]);
      if (std::isnan(row[j])) stats.max_weight[at] = std::numeric_limits<float>::quiet_NaN();
      if (row[j] > stats.max_weight[at]) {
        stats.max_weight[at] = static_cast<float>(row[j]);
        stats.argmax[at] = static_cast<std::int32_t>(j);
      }
    }
    stats.entropy[at] = static_cast<float>(entropy);
    if (want.key_groups.empty()) continue;
    std::vector<double> mass(static_cast<std::size_t>(want.key_group_count), 0.0);
    for (std::size_t j = 0; j < N; ++j) {
      if (want.key_groups[j] >= 0) mass[static_cast<std::size_t>(want.key_groups[j])] += row[j];
    }
    for (std::size_t g = 0; g < mass.size(); ++g) {
      stats.key_mass[at * mass.size() + g] = static_cast<float>(mass[g]);
    }
  }
}

void measure_qk_means(const Head& head) {
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

// Mean length of the outputs if every query attended evenly to all keys it may see.
double uniform_norm(const Head& head) {
  double norms = 0;
  for (Index i = 0; i < head.s.T; ++i) {
    double square = 0, count = 0;
    for (Index d = 0; d < head.args.D; ++d) {
      double sum = 0;
      count = 0;
      for (Index j = 0; j < head.N; ++j) {
        if (first_query_seeing(head.args, head.s, j) > i) continue;
        sum += head.value(j)[d];
        count += 1;
      }
      square += sum * sum;
    }
    norms += std::sqrt(square) / std::max(1.0, count);
  }
  return norms / static_cast<double>(std::max<Index>(1, head.s.T));
}

void run_head(const Head& head, const Tensor& out) {
  const AttentionRequest* want = head.s.request;
  const Index D = head.args.D;
  const double gain = head.s.head_gain.empty() ? 1.0 : head.s.head_gain[static_cast<std::size_t>(head.h)];
  std::vector<double> columns(want != nullptr ? static_cast<std::size_t>(want->group_count * head.N) : 0,
                              0.0);
  double norms = 0;
  for (Index i = 0; i < head.s.T; ++i) {
    const std::vector<double> row = attention_row(head, i);
    if (want != nullptr) record_row(head, i, row, columns);
    float* to = out.row<float>(head.s.first_row + i) + head.h * D;
    double square = 0;
    for (Index d = 0; d < D; ++d) {
      double sum = 0;
      for (Index j = 0; j < head.N; ++j) sum += row[static_cast<std::size_t>(j)] * head.value(j)[d];
      square += sum * sum;
      to[d] = static_cast<float>(gain * sum);
    }
    norms += std::sqrt(square);
  }
  if (want == nullptr) return;
  AttentionStats& stats = *head.s.stats;
  if (!want->query_groups.empty()) {
    const std::size_t base = static_cast<std::size_t>(head.h) * columns.size();
    for (std::size_t c = 0; c < columns.size(); ++c)
      stats.column_sums[base + c] = static_cast<float>(columns[c]);
  }
  if (want->output_norms) {
    const double count = static_cast<double>(std::max<Index>(1, head.s.T));
    stats.mean_output_norm[static_cast<std::size_t>(head.h)] = static_cast<float>(norms / count);
    stats.uniform_norm[static_cast<std::size_t>(head.kv)] = static_cast<float>(uniform_norm(head));
    for (Index j = 0; j < head.N; ++j) {
      stats.value_norms[static_cast<std::size_t>(head.kv * head.N + j)] =
          static_cast<float>(norm(head.value(j), D));
    }
  }
  if (want->qk_means) measure_qk_means(head);
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
      run_head({.args = args, .s = s, .h = h, .kv = kv, .N = s.k.rows(), .row_sums = row_sums}, out);
    }
    for (std::size_t i = 0; i < row_sums.size(); ++i) {
      s.stats->row_means[i] = static_cast<float>(row_sums[i] / static_cast<double>(args.H));
    }
  }
}

}  // namespace buoy
