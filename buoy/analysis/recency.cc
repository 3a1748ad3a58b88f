#include "buoy/analysis/recency.h"

#include <cmath>
#include <numeric>

#include "buoy/base/error.h"

namespace buoy {

Recency::Recency(const Mask& mask, double lambda, Index N)
    : mask_(mask), lambda_(lambda), N_(N), powers_(N), sums_(N), distances_(N), totals_(N) {
  check(N >= 1 && lambda >= 0, "recency has rows and looks at what is near");
  double sum = 0, distance = 0;
  for (Index d = 0; d < N; ++d) {
    powers_[d] = std::exp(-lambda * static_cast<double>(d));
    sums_[d] = sum += powers_[d];
    distances_[d] = distance += static_cast<double>(d) * powers_[d];
  }
  for (Index i = 0; i < N; ++i) totals_[i] = sums_[i] + sums_[ahead(i)] - 1;  // i itself is in both
}

double Recency::row_entropy(Index i) const {
  return std::log(totals_[i]) + lambda_ * (distances_[i] + distances_[ahead(i)]) / totals_[i];
}

double Recency::mean_row_entropy() const {
  double sum = 0;
  for (Index i = 0; i < N_; ++i) sum += row_entropy(i);
  return sum / static_cast<double>(N_);
}

std::vector<double> Recency::row(Index i, Index visible) const {
  std::vector<double> out(visible);
  double total = 0;
  for (Index j = 0; j < visible; ++j) total += out[j] = powers_[std::abs(i - j)];
  for (double& weight : out) weight /= total;
  return out;
}

std::vector<double> Recency::received(std::span<const std::int8_t> chosen) const {
  std::vector<double> out(N_), scale(N_);
  double rows = 0;
  for (Index i = 0; i < N_; ++i) {
    if (chosen[i] == 0) continue;
    scale[i] = 1 / totals_[i];
    ++rows;
  }
  check(rows > 0, "attention is averaged over some rows");
  const double q = std::exp(-lambda_);
  double after = 0;  // Σ over rows i ≥ j, all of which see j
  for (Index j = N_ - 1; j >= 0; --j) out[j] = after = scale[j] + q * after;
  double before = 0;  // Σ over rows i < j that see j: those of its block
  for (Index j = 1; j < N_; ++j) {
    before = mask_.first_position_seeing(j) < j ? q * (before + scale[j - 1]) : 0;
    out[j] += before;
  }
  for (double& share : out) share /= rows;
  return out;
}

std::vector<double> Recency::received() const {
  return received(std::vector<std::int8_t>(N_, 1));
}

std::vector<double> Recency::flow(std::span<const Index> of, Index R) const {
  std::vector<double> out(R * R);
  std::vector<std::int8_t> chosen(N_);
  for (Index a = 0; a < R; ++a) {
    for (Index i = 0; i < N_; ++i) chosen[i] = of[i] == a ? 1 : 0;
    if (std::accumulate(chosen.begin(), chosen.end(), Index{0}) == 0) continue;
    const std::vector<double> share = received(chosen);
    for (Index j = 0; j < N_; ++j) out[a * R + of[j]] += share[j];
  }
  return out;
}

double fit_recency(const Mask& mask, Index N, double entropy) {
  const auto at = [&](double lambda) { return Recency(mask, lambda, N).mean_row_entropy(); };
  if (entropy >= at(0)) return 0;
  if (entropy <= at(kSteepest)) return kSteepest;
  double low = 0, high = kSteepest;  // at(low) > entropy > at(high)
  // After 60 halvings λ is known to 2^-54, and entropy, whose slope is at most about N, to far below 1e-9.
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (at(middle) > entropy ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace buoy
