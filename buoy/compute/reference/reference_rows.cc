#include "buoy/compute/reference/reference_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace buoy {
namespace {

// Mean length of the outputs if every query attended evenly to all keys it may see.
double uniform_norm(const ReferenceHead& head) {
  double norms = 0;
  for (Index i = 0; i < head.s.T; ++i) {
    double square = 0, count = 0;
    for (Index d = 0; d < head.P; ++d) {
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

}  // namespace

double dot(const float* a, const float* b, Index n) {
  double sum = 0;
  for (Index d = 0; d < n; ++d) sum += double{a[d]} * b[d];
  return sum;
}

double norm(const float* a, Index n) {
  return std::sqrt(dot(a, a, n));
}

ReferenceSums::ReferenceSums(const ReferenceHead& head)
    : columns(head.s.request != nullptr ? static_cast<std::size_t>(head.s.request->group_count * head.N) : 0,
              0.0) {}

void record_row(const ReferenceHead& head, Index i, const std::vector<double>& row, ReferenceSums& sums) {
  const AttentionRequest& want = *head.s.request;
  AttentionStats& stats = *head.s.stats;
  const auto N = static_cast<std::size_t>(head.N);
  if (!want.query_groups.empty() && want.query_groups[static_cast<std::size_t>(i)] >= 0) {
    const auto group = static_cast<std::size_t>(want.query_groups[static_cast<std::size_t>(i)]);
    for (std::size_t j = 0; j < N; ++j) sums.columns[group * N + j] += row[j];
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

void weigh_row(const ReferenceHead& head, Index i, const std::vector<double>& row, const Tensor& out,
               ReferenceSums& sums) {
  const double gain = head.s.head_gain.empty() ? 1.0 : head.s.head_gain[static_cast<std::size_t>(head.h)];
  float* to = out.row<float>(head.s.first_row + i) + head.h * head.P;
  double square = 0;
  for (Index d = 0; d < head.P; ++d) {
    double sum = 0;
    for (Index j = 0; j < head.N; ++j) sum += row[static_cast<std::size_t>(j)] * head.value(j)[d];
    square += sum * sum;
    to[d] = static_cast<float>(gain * sum);
  }
  sums.norms += std::sqrt(square);
}

void store_sums(const ReferenceHead& head, const ReferenceSums& sums) {
  const AttentionRequest& want = *head.s.request;
  AttentionStats& stats = *head.s.stats;
  if (!want.query_groups.empty()) {
    const std::size_t base = static_cast<std::size_t>(head.h) * sums.columns.size();
    for (std::size_t c = 0; c < sums.columns.size(); ++c)
      stats.column_sums[base + c] = static_cast<float>(sums.columns[c]);
  }
  if (!want.output_norms) return;
  const double count = static_cast<double>(std::max<Index>(1, head.s.T));
  stats.mean_output_norm[static_cast<std::size_t>(head.h)] = static_cast<float>(sums.norms / count);
  stats.uniform_norm[static_cast<std::size_t>(head.kv)] = static_cast<float>(uniform_norm(head));
  for (Index j = 0; j < head.N; ++j) {
    stats.value_norms[static_cast<std::size_t>(head.kv * head.N + j)] =
        static_cast<float>(norm(head.value(j), head.P));
  }
}

void store_row_means(const AttentionSequence& s, Index H, const std::vector<double>& row_sums) {
  for (std::size_t i = 0; i < row_sums.size(); ++i)
    s.stats->row_means[i] = static_cast<float>(row_sums[i] / static_cast<double>(H));
}

}  // namespace buoy
