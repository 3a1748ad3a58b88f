#include "buoy/analysis/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "buoy/base/error.h"
#include "buoy/base/random.h"

namespace buoy {
namespace {

constexpr double kTail = (1 - kConfidence) / 2;

// sums[b] += Σ_i values[i] · counts(i)[b]. Four samples at a time: this loop waits for `sums` more than it
// computes.
void accumulate(std::span<const double> values, const Resamples& resamples, std::span<double> sums) {
  constexpr Index kAtOnce = 4;
  const Index n = std::ssize(values), end = n - n % kAtOnce;
  for (Index i = 0; i < end; i += kAtOnce) {
    const double x0 = values[i], x1 = values[i + 1], x2 = values[i + 2], x3 = values[i + 3];
    const float* c0 = resamples.counts(i).data();
    const float* c1 = resamples.counts(i + 1).data();
    const float* c2 = resamples.counts(i + 2).data();
    const float* c3 = resamples.counts(i + 3).data();
    for (std::size_t b = 0; b < sums.size(); ++b)
      sums[b] += x0 * c0[b] + x1 * c1[b] + (x2 * c2[b] + x3 * c3[b]);
  }
  for (Index i = end; i < n; ++i) {
    const float* c = resamples.counts(i).data();
    for (std::size_t b = 0; b < sums.size(); ++b) sums[b] += values[i] * c[b];
  }
}

// Interpolated linearly. Reorders `values`.
double quantile(std::span<double> values, double q) {
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<Index>(place);
  std::ranges::nth_element(values, below);
  if (below + 1 == values.end()) return *below;
  const double above = *std::min_element(below + 1, values.end());
  return *below + (place - std::floor(place)) * (above - *below);
}

// A sample's ratio to measure the others from: sums of what is left are small, and 0 when all are equal.
double reference(const Ratios& ratios) {
  const auto first = std::ranges::find_if(ratios.weights, [](double w) { return w != 0; });
  return first == ratios.weights.end() ? 0 : ratios.values[first - ratios.weights.begin()] / *first;
}

std::vector<double> remainders(const Ratios& ratios, double from) {
  std::vector<double> out(ratios.values.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = ratios.values[i] - from * ratios.weights[i];
  return out;
}

// take(unit) for each of the n draws of a resample.
template <class Take>
void draw_units(Index resample, Index n, const Take& take) {
  const DrawKey key{.seed = kStatisticsSeed, .step = static_cast<std::uint32_t>(resample)};
  for (Index draw = 0; draw < n; ++draw) {
    take(std::min(static_cast<Index>(uniform(key, draw) * static_cast<double>(n)), n - 1));
  }
}

// One unit's worth of variance keeps an error from vanishing.
double standard_error(double variance, double whole_variance, double n) {
  return std::sqrt((variance + whole_variance / n) / (n - 1));
}

}  // namespace

Resamples::Resamples(Index n) : n_(n), counts_(n * kResamples) {
  for (Index b = 0; b < kResamples; ++b) {
    draw_units(b, n, [&](Index unit) { counts_[unit * kResamples + b] += 1; });
  }
}

std::span<const float> Resamples::counts(Index unit) const {
  return std::span(counts_).subspan(unit * kResamples, kResamples);
}

std::optional<double> ratio_of(const Ratios& ratios) {
  const double from = reference(ratios);
  double values = 0, weights = 0;
  for (const double value : remainders(ratios, from)) values += value;
  for (const double weight : ratios.weights) weights += weight;
  if (weights == 0) return std::nullopt;
  return from + values / weights;
}

double deviation_of(const Ratios& ratios) {
  double n = 0, mean = 0, squares = 0;
  for (std::size_t i = 0; i < ratios.values.size(); ++i) {
    if (ratios.weights[i] == 0) continue;
    const double own = ratios.values[i] / ratios.weights[i], step = own - mean;
    mean += step / ++n;
    squares += step * (own - mean);
  }
  return n > 1 ? std::sqrt(squares / (n - 1)) : 0;
}

std::vector<double> resample(const Ratios& ratios, const Resamples& resamples) {
  check(ratios.values.size() == ratios.weights.size() && std::ssize(ratios.values) == resamples.n(),
        "there is one value and one weight per sample that is resampled");
  const double from = reference(ratios);
  std::vector<double> out(kResamples);
  accumulate(remainders(ratios, from), resamples, out);
  const bool plain = std::ranges::all_of(ratios.weights, [](double w) { return w == 1; });
  std::vector<double> weights(kResamples, plain ? static_cast<double>(resamples.n()) : 0);
  if (!plain) accumulate(ratios.weights, resamples, weights);
  for (std::size_t b = 0; b < out.size(); ++b) {
    out[b] = weights[b] == 0 ? std::numeric_limits<double>::quiet_NaN() : from + out[b] / weights[b];
  }
  return out;
}

std::vector<double> influence_of(const Ratios& ratios, double ratio) {
  double weights = 0;
  for (const double weight : ratios.weights) weights += weight;
  std::vector<double> out = remainders(ratios, ratio);
  for (double& u : out) u *= static_cast<double>(out.size()) / weights;
  return out;
}

Studentised::Studentised(double estimate, std::span<const double> influence, const Resamples& resamples)
    : estimate_(estimate), influence_(influence.begin(), influence.end()) {
  check(std::ssize(influence) == resamples.n(), "there is one influence per unit that is resampled");
  const double n = static_cast<double>(influence.size());
  std::vector<double> squares;
  for (const double u : influence) squares.push_back(u * u);
  variance_ = std::accumulate(squares.begin(), squares.end(), 0.0) / n;
  if (n < 2 || variance_ == 0) return;
  std::vector<double> means(kResamples), moments(kResamples);
  accumulate(influence, resamples, means);
  accumulate(squares, resamples, moments);
  error_ = buoy::standard_error(variance_, variance_, n);
  for (Index b = 0; b < kResamples; ++b) {
    const double mean = means[b] / n, variance = std::max(0.0, moments[b] / n - mean * mean);
    t_.push_back(mean / buoy::standard_error(variance, variance_, n));
  }
}

double Studentised::t_of(Index resample) const {
  double sum = 0, squares = 0;
  draw_units(resample, std::ssize(influence_), [&](Index unit) {
    const double u = influence_[static_cast<std::size_t>(unit)];
    sum += u, squares += u * u;
  });
  const auto n = static_cast<double>(influence_.size());
  const double mean = sum / n;
  return mean / buoy::standard_error(std::max(0.0, squares / n - mean * mean), variance_, n);
}

Interval Studentised::interval() const {
  if (t_.empty()) return {.lo = estimate_, .hi = estimate_};
  std::vector<double> t = t_;
  return {.lo = estimate_ - quantile(t, 1 - kTail) * error_, .hi = estimate_ - quantile(t, kTail) * error_};
}

double Studentised::p(double value) const {
  if (t_.empty()) return 1;
  const double t = (estimate_ - value) / error_;
  Index above = std::ranges::count_if(t_, [&](double other) { return other >= t; });
  Index below = std::ranges::count_if(t_, [&](double other) { return other <= t; });
  Index resamples = kResamples;
  if (above == 0 || below == 0) {
    for (; resamples < kMostResamples; ++resamples) {
      const double other = t_of(resamples);
      above += other >= t ? 1 : 0;
      below += other <= t ? 1 : 0;
    }
  }
  const double tail = static_cast<double>(1 + std::min(above, below)) / static_cast<double>(1 + resamples);
  return std::min(1.0, 2 * tail);
}

Interval percentile_interval(std::vector<double> estimates, double otherwise) {
  std::erase_if(estimates, [](double x) { return !std::isfinite(x); });
  if (estimates.empty()) return {.lo = otherwise, .hi = otherwise};
  return {.lo = quantile(estimates, kTail), .hi = quantile(estimates, 1 - kTail)};
}

}  // namespace buoy
