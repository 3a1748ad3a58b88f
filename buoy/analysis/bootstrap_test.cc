// Resampling: exact where there is nothing to doubt, covering what it should where there is.
#include "buoy/analysis/bootstrap.h"

#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

std::vector<double> ones(std::size_t n) {
  return std::vector<double>(n, 1.0);
}

Interval interval_of(const std::vector<double>& values, const Resamples& resamples) {
  const auto weights = ones(values.size());
  return percentile_interval(resample({.values = values, .weights = weights}, resamples), 0);
}

TEST(Bootstrap, EveryResampleDrawsAsManyAsThereAre) {
  const Resamples resamples(7);
  double first = 0;
  for (Index b = 0; b < kResamples; ++b) {
    double total = 0;
    for (Index i = 0; i < 7; ++i) total += resamples.counts(i)[b];
    ASSERT_EQ(total, 7) << b;
    first += resamples.counts(0)[b];
  }
  EXPECT_NEAR(first / kResamples, 1, 3 * std::sqrt(6.0 / 7 / kResamples)) << "each is drawn once on average";
}

TEST(Bootstrap, EveryResampleIsDrawnForItself) {
  const Resamples resamples(20);
  std::set<std::vector<float>> different;
  for (Index b = 0; b < kResamples; ++b) {
    std::vector<float> counts;
    for (Index i = 0; i < 20; ++i) counts.push_back(resamples.counts(i)[b]);
    different.insert(std::move(counts));
  }
  EXPECT_EQ(std::ssize(different), kResamples);
}

TEST(Bootstrap, ConstantHasNoWidth) {
  const Interval found = interval_of(std::vector<double>(9, 0.1), Resamples(9));
  EXPECT_EQ(found.lo, 0.1);
  EXPECT_EQ(found.hi, 0.1);
}

TEST(Bootstrap, IsDeterministic) {
  const std::vector<double> values = {0.3, 1.7, -2, 5, 0.1, 0.1};
  const auto weights = ones(6);
  EXPECT_EQ(resample({.values = values, .weights = weights}, Resamples(6)),
            resample({.values = values, .weights = weights}, Resamples(6)));
}

TEST(Bootstrap, MeansOfResamplesAreThoseOfTheirCounts) {
  const std::vector<double> values = {3, 0, -2, 5.5, 8}, weights = {1, 2, 0.5, 1, 4};
  const Resamples resamples(5);
  const auto found = resample({.values = values, .weights = weights}, resamples);
  for (const Index b : {0, 17, 1999}) {
    double value = 0, weight = 0;
    for (Index i = 0; i < 5; ++i) {
      value += resamples.counts(i)[b] * values[i];
      weight += resamples.counts(i)[b] * weights[i];
    }
    EXPECT_NEAR(found[b], value / weight, 1e-12);
  }
}

TEST(Bootstrap, NinetyFivePercentIntervalsOfACoinCoverItsMean) {
  constexpr std::uint32_t kRuns = 200;
  const Resamples resamples(40);
  int covered = 0;
  for (std::uint32_t run = 0; run < kRuns; ++run) {
    std::vector<double> flips;
    for (std::uint64_t i = 0; i < 40; ++i) flips.push_back(draw(run, i) < 0.5 ? 0 : 1);
    const Interval found = interval_of(flips, resamples);
    EXPECT_LT(found.hi - found.lo, 0.36);  // 2·1.96·0.5/√40 is 0.31
    covered += found.lo <= 0.5 && 0.5 <= found.hi ? 1 : 0;
  }
  EXPECT_GT(covered, 0.89 * kRuns);
  EXPECT_LT(covered, kRuns);
}

TEST(Bootstrap, SamplesWithoutTheNumberDoNotCount) {
  const std::vector<double> values = {4, 0, 8}, weights = {1, 0, 1};
  const Ratios ratios{.values = values, .weights = weights};
  EXPECT_EQ(*ratio_of(ratios), 6);
  EXPECT_NEAR(deviation_of(ratios), std::sqrt(8), 1e-12);
  Index undefined = 0;
  for (const double estimate : resample(ratios, Resamples(3))) {
    if (std::isnan(estimate))
      ++undefined;
    else
      EXPECT_TRUE(estimate >= 4 && estimate <= 8);
  }
  EXPECT_NEAR(static_cast<double>(undefined) / kResamples, 1.0 / 27, 0.02) << "the second sample three times";
}

TEST(Bootstrap, RatiosOfSumsAreNotMeansOfRatios) {
  const std::vector<double> values = {1, 9}, weights = {10, 10.0 / 9};
  EXPECT_NEAR(*ratio_of({.values = values, .weights = weights}), 10 / (100.0 / 9), 1e-12);
}

TEST(Bootstrap, WeightsThatCancelLeaveNothing) {
  const std::vector<double> values = {1, 1}, weights = {2, -2};
  EXPECT_FALSE(ratio_of({.values = values, .weights = weights}));
  EXPECT_FALSE(ratio_of({}));
}

TEST(Bootstrap, QuantilesAreInterpolated) {
  std::vector<double> values(41);
  std::iota(values.rbegin(), values.rend(), 0.0);
  const Interval found = percentile_interval(values, -1);
  EXPECT_NEAR(found.lo, 1, 1e-12);
  EXPECT_NEAR(found.hi, 39, 1e-12);
  EXPECT_NEAR(percentile_interval({1, 0}, -1).lo, 0.025, 1e-12);
  EXPECT_NEAR(percentile_interval({1, 0}, -1).hi, 0.975, 1e-12);
  EXPECT_EQ(percentile_interval({std::nan("")}, -1).lo, -1);
}

TEST(Bootstrap, DeviationIsThatOfASample) {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9}, one = {3};
  const auto weights = ones(8), w = ones(1);
  EXPECT_NEAR(deviation_of({.values = values, .weights = weights}), std::sqrt(32.0 / 7), 1e-12);
  EXPECT_EQ(deviation_of({.values = one, .weights = w}), 0);
  const std::vector<double> halves = {1, 6}, of = {2, 4};  // 0.5 and 1.5
  EXPECT_NEAR(deviation_of({.values = halves, .weights = of}), std::sqrt(0.5), 1e-12);
}

}  // namespace
}  // namespace buoy
