// Confidence intervals by resampling samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

inline constexpr Index kResamples = 2000;
inline constexpr double kConfidence = 0.95;
inline constexpr std::uint64_t kStatisticsSeed = 20260107;

// How often each of n samples is drawn in each resample: drawn once, shared by all numbers of these samples.
// Depends on n alone. n·kResamples floats.
class Resamples {
 public:
  explicit Resamples(Index n);

  Index n() const { return n_; }
  std::span<const float> counts(Index sample) const;  // [kResamples]

 private:
  Index n_;
  std::vector<float> counts_;  // [n, kResamples]
};

// One number of each sample, as numerator and denominator; the whole is Σ values ÷ Σ weights. A weight of 0
// says that the sample does not have this number; its value is 0 then.
struct Ratios {
  std::span<const double> values, weights;  // [n]
};

// Σ values ÷ Σ weights; nothing when no sample has the number or the weights cancel out.
std::optional<double> ratio_of(const Ratios& ratios);

// Standard deviation (n − 1) of the samples' own ratios; 0 for one sample.
double deviation_of(const Ratios& ratios);

// The ratio in every resample, [kResamples]; NaN where it is undefined: no sample drawn that has the number.
// The same number in all samples comes back unchanged, to the bit, when weights are 1.
std::vector<double> resample(const Ratios& ratios, const Resamples& resamples);

struct Interval {
  double lo = 0, hi = 0;
};

// The middle kConfidence of `estimates` that are numbers (quantiles interpolated linearly); {otherwise,
// otherwise} when none is.
Interval percentile_interval(std::vector<double> estimates, double otherwise);

}  // namespace buoy
