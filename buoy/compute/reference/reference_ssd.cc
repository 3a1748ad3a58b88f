#include "buoy/compute/reference/reference_ssd.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "buoy/compute/reference/reference_rows.h"

namespace buoy {
namespace {

double decay(const SsdDirection& direction, std::size_t i, std::size_t j) {
  return std::exp(direction.reach[j] - direction.reach[i]);
}

// Row i of M.
std::vector<double> matrix_row(const ReferenceHead& head, const SsdHead& ssd, Index i) {
  std::vector<double> row(static_cast<std::size_t>(head.N));
  const auto at = static_cast<std::size_t>(i);
  for (std::size_t j = 0; j < row.size(); ++j) {
    const SsdDirection& direction = j < at ? ssd.forward : ssd.backward;
    row[j] = j == at ? ssd.diagonal[j]
                     : dot(head.query(i), head.key(static_cast<Index>(j)), head.args.D) * direction.step[j] *
                           decay(direction, at, j);
  }
  if (!ssd.finite) row[at] = std::numeric_limits<double>::quiet_NaN();
  return row;
}

// Its implicit attention; all zero where the row is.
std::vector<double> shares(const std::vector<double>& row, Implicit implicit) {
  std::vector<double> made(row.size());
  double total = 0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    made[j] = implicit == Implicit::kEnergy ? row[j] * row[j] : std::abs(row[j]);
    total += made[j];
  }
  for (double& share : made) share = total == 0 ? 0 : share / total;
  return made;
}

// The factors of what columns receive, pair by pair.
void measure_columns(const ReferenceHead& head, const SsdHead& ssd, const std::vector<double>& energies) {
  const Index N = head.N, n = head.args.D;
  std::vector<double> queries(static_cast<std::size_t>(N));  // ‖C_i‖² ÷ ρ_i
  double all = 0;
  for (Index i = 0; i < N; ++i) {
    const auto at = static_cast<std::size_t>(i);
    queries[at] = energies[at] == 0 ? 0 : dot(head.query(i), head.query(i), n) / energies[at];
    all += queries[at];
  }
  std::vector<double> received(static_cast<std::size_t>(N), 0.0);
  for (Index i = 0; i < N; ++i) {
    const std::vector<double> row = shares(matrix_row(head, ssd, i), Implicit::kEnergy);
    for (Index j = 0; j < N; ++j)
      received[static_cast<std::size_t>(j)] += i == j ? 0 : row[static_cast<std::size_t>(j)];
  }
  for (Index j = 0; j < N; ++j) {
    const auto at = static_cast<std::size_t>(j);
    SsdColumn column{
        .energy = received[at],
        .reached = 0,
        .key = dot(head.key(j), head.key(j), n),
        .steps = ssd.forward.step[at] * ssd.forward.step[at] + ssd.backward.step[at] * ssd.backward.step[at],
        .queries = all};
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (i == at) continue;
      const SsdDirection& direction = at < i ? ssd.forward : ssd.backward;
      const double written = direction.step[at] * decay(direction, i, at);
      column.reached += queries[i] * written * written;
    }
    fill_ssd_column(column, head.h, j, N, *head.s.stats);
  }
}

void run_ssd_head(const ReferenceHead& head, const SsdHead& ssd, const Tensor& out) {
  ReferenceSums sums(head);
  std::vector<double> energies;
  for (Index i = 0; i < head.N; ++i) {
    const std::vector<double> row = matrix_row(head, ssd, i);
    double energy = 0;
    for (const double m : row) energy += m * m;
    energies.push_back(energy);
    if (head.s.request != nullptr) record_row(head, i, shares(row, head.s.request->implicit), sums);
    weigh_row(head, i, row, out, sums);
  }
  if (head.s.request == nullptr) return;
  store_sums(head, sums);
  if (head.s.request->qk_means) measure_columns(head, ssd, energies);
}

}  // namespace

void reference_ssd(const SsdArgs& args, const Tensor& out) {
  check_ssd(args, out);
  const AttentionArgs shared = args.as_attention();
  for (const AttentionSequence& s : args.sequences) {
    if (s.request != nullptr) prepare_ssd_stats(args, s);
    if (s.request != nullptr && s.request->states) copy_states(shared, s);
    std::vector<double> row_sums(s.request != nullptr ? s.stats->row_means.size() : 0, 0.0);
    for (Index h = 0; h < args.H; ++h) {
      run_ssd_head({.args = shared, .s = s, .h = h, .kv = h, .N = s.T, .P = args.P, .row_sums = row_sums},
                   make_ssd_head(args, s, h), out);
    }
    store_row_means(s, args.H, row_sums);
  }
}

void reference_convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                        const Tensor& out) {
  const Index K = convolution.weight.rows();
  Index first = 0;
  for (const Index T : lengths) {
    for (Index i = 0; i < T; ++i) {
      for (Index c = 0; c < x.cols(); ++c) {
        double sum = convolution.bias.row<float>(0)[c];
        for (Index k = 0; k < K; ++k) {
          const Index from = i + k - K / 2;
          if (from < 0 || from >= T) continue;
          sum += double{convolution.weight.row<float>(k)[c]} * x.row<float>(first + from)[c];
        }
        out.row<float>(first + i)[c] = static_cast<float>(sum / (1 + std::exp(-sum)));
      }
    }
    first += T;
  }
}

}  // namespace buoy
