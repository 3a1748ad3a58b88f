// Confidence intervals by resampling samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

inline constexpr Index kResamples = 2000;
inline constexpr Index kMostResamples = 20000;  // where the first ones cannot tell how small a p is
inline constexpr double kConfidence = 0.95;
inline constexpr std::uint64_t kStatisticsSeed = 20260107;

// How often each of n units (questions) is drawn in each resample: drawn once, shared by all numbers of these
// units. Depends on n alone. n·kResamples floats.
class Resamples {
 public:
  explicit Resamples(Index n);

  Index n() const { return n_; }
  std::span<const float> counts(Index unit) const;  // [kResamples]

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

// What each unit adds to the ratio, to first order: (value − ratio·weight) ÷ mean weight. Mean 0; all 0, to
// the bit, where weights are 1 and values equal.
std::vector<double> influence_of(const Ratios& ratios, double ratio);

// The studentised bootstrap (bootstrap-t) of an estimate from the influences u of its n units. With s² the
// variance of u, resample b has t_b = ū_b ÷ √((s²_b + s²/n) ÷ (n − 1)), and the estimate's own standard error
// is √((s² + s²/n) ÷ (n − 1)): the s²/n, one unit's worth, keeps t finite where a resample has no spread.
class Studentised {
 public:
  // One influence per unit of the resamples.
  Studentised(double estimate, std::span<const double> influence, const Resamples& resamples);

  double standard_error() const { return error_; }  // 0: all units say the same
  // estimate − t·error at both kConfidence quantiles of t; no width where there is no error.
  Interval interval() const;
  // Two-sided: 1 − the confidence of the widest interval that does not reach `value`. Where no t of the first
  // kResamples lies as far out as `value`, of kMostResamples; no less than 2 ÷ (kMostResamples + 1). 1 where
  // there is no error, which says nothing.
  double p(double value) const;

 private:
  double t_of(Index resample) const;

  double estimate_, error_ = 0, variance_ = 0;
  std::vector<double> influence_;
  std::vector<double> t_;  // [kResamples]; empty where there is no error
};

// The middle kConfidence of `estimates` that are numbers (quantiles interpolated linearly); {otherwise,
// otherwise} when none is. For what is no smooth function of means, such as a share of heads.
Interval percentile_interval(std::vector<double> estimates, double otherwise);

}  // namespace buoy
