// The four rules that say which keys are anchors.
#include "buoy/analysis/anchors.h"

#include <cmath>

#include <gtest/gtest.h>

#include "buoy/analysis/null_model.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

using Positions = std::vector<Index>;

std::vector<double> row_with(Index N, const Positions& positions, double mass) {
  const double rest = 1 - mass * static_cast<double>(positions.size());
  std::vector<double> row(N, rest / static_cast<double>(N));
  for (const Index j : positions) row[j] += mass;
  return row;
}

const std::vector<double> kEven24(24, 1.0 / 24);

TEST(Anchors, ExcessFindsWhatStandsOut) {
  EXPECT_EQ(find_anchors(row_with(24, {7}, 0.5), kEven24, {}), Positions{7});
  EXPECT_EQ(find_anchors(row_with(24, {19, 3}, 0.1), kEven24, {}), (Positions{3, 19}));
}

TEST(Anchors, EqualPeaksPassUntilTheirDeviationReachesEpsilon) {
  // k equal peaks lie √((N−k)/k) deviations above the mean: 3.32 for 2 of 24, 2.65 for 3.
  EXPECT_EQ(find_anchors(row_with(24, {1, 2}, 0.1), kEven24, {.epsilon = 3.3}).size(), 2U);
  EXPECT_TRUE(find_anchors(row_with(24, {1, 2}, 0.1), kEven24, {.epsilon = 3.33}).empty());
  EXPECT_TRUE(find_anchors(row_with(24, {1, 2, 3}, 0.1), kEven24, {}).empty());
}

TEST(Anchors, ExcessFindsNothingInUniformCausalAttentionWhereSigmaDoes) {
  const auto causal = uniform_received(Mask::kCausal, Rows::kAll, 400);
  EXPECT_TRUE(find_anchors(causal, causal, {.rule = AnchorRule::kExcess}).empty());
  const Positions found = find_anchors(causal, causal, {.rule = AnchorRule::kSigma});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0], 0);
}

TEST(Anchors, ExcessIgnoresDeviationsOfTheSizeOfRounding) {
  std::vector<double> nearly = kEven24, just = kEven24;
  nearly[5] += 1e-7 / 24;
  just[5] += 1e-5 / 24;
  for (const AnchorRule rule : {AnchorRule::kExcess, AnchorRule::kSigma}) {
    EXPECT_TRUE(find_anchors(nearly, kEven24, {.rule = rule}).empty());
    EXPECT_EQ(find_anchors(just, kEven24, {.rule = rule, .min_lift = 1}), Positions{5});
  }
}

TEST(Anchors, ExcessIsMeasuredFromTheNull) {
  auto row = uniform_received(Mask::kCausal, Rows::kAll, 50);
  const auto null = row;
  row[0] -= 0.01;
  row[30] += 0.01;  // still far below row[0]
  ASSERT_GT(row[0], 2 * row[30]);
  EXPECT_EQ(find_anchors(row, null, {.min_lift = 1}), Positions{30});
  EXPECT_EQ(largest_excess(row, null), 30);
  EXPECT_EQ(largest_excess(null, null), -1);
}

TEST(Anchors, OffsetFallsBackToTheLargestColumn) {
  const AnchorOptions published{.rule = AnchorRule::kOffset};
  EXPECT_EQ(find_anchors(row_with(24, {11}, 0.9), kEven24, published), Positions{11});
  EXPECT_EQ(find_anchors(kEven24, kEven24, published), Positions{0});
  const AnchorOptions lower{.rule = AnchorRule::kOffset, .epsilon = 0.2};
  EXPECT_EQ(find_anchors(row_with(24, {4, 9}, 0.3), kEven24, lower), (Positions{4, 9}));
}

TEST(Anchors, OffsetComparesWithTheMeanOfTheOthers) {
  const std::vector<double> row = {0.4, 0.4, 0.1, 0.1}, even(4, 0.25);  // 0.2 above the mean of the others
  EXPECT_EQ(find_anchors(row, even, {.rule = AnchorRule::kOffset, .epsilon = 0.19}), (Positions{0, 1}));
  EXPECT_EQ(find_anchors(row, even, {.rule = AnchorRule::kOffset, .epsilon = 0.21}), Positions{0});
  const std::vector<double> one = {1};
  EXPECT_EQ(find_anchors(one, one, {.rule = AnchorRule::kOffset}), Positions{0});
}

TEST(Anchors, WhatOnlyReachesTheThresholdDoesNotPass) {
  const std::vector<double> row = {1, 0}, even = {0.5, 0.5};  // exactly one deviation above the mean
  EXPECT_TRUE(find_anchors(row, even, {.epsilon = 1}).empty());
  EXPECT_EQ(find_anchors(row, even, {.epsilon = 0.99}), Positions{0});
}

TEST(Anchors, TopKTakesTheLowestOfEquals) {
  const AnchorOptions three{.rule = AnchorRule::kTopK, .k = 3};
  EXPECT_EQ(find_anchors(kEven24, kEven24, three), (Positions{0, 1, 2}));
  EXPECT_EQ(find_anchors(row_with(24, {20}, 0.5), kEven24, three), (Positions{0, 1, 20}));
  EXPECT_EQ(find_anchors(kEven24, kEven24, {.rule = AnchorRule::kTopK, .k = 99}).size(), 24U);
}

TEST(Anchors, CentreIsWeightedByExcess) {
  std::vector<double> row(24, 0.6 / 24);
  row[4] += 0.1;
  row[8] += 0.3;
  const double four = row[4] - 1.0 / 24, eight = row[8] - 1.0 / 24;
  const auto centre = anchor_centre(row, kEven24, Positions{4, 8});
  ASSERT_TRUE(centre);
  EXPECT_NEAR(*centre, (4 * four + 8 * eight) / (four + eight), 1e-12);
  EXPECT_FALSE(anchor_centre(row, kEven24, Positions{}));
  EXPECT_FALSE(anchor_centre(kEven24, kEven24, Positions{0, 1})) << "rounding has no centre";
}

TEST(Anchors, WarnWhereNothingCanPass) {
  for (const AnchorRule rule : {AnchorRule::kExcess, AnchorRule::kSigma}) {
    EXPECT_TRUE(anchor_warning({.rule = rule}, 10));
    EXPECT_FALSE(anchor_warning({.rule = rule}, 11));
    const std::vector<double> even10(10, 0.1), even11(11, 1.0 / 11);
    EXPECT_TRUE(find_anchors(row_with(10, {3}, 1), even10, {.rule = rule}).empty());
    EXPECT_FALSE(find_anchors(row_with(11, {3}, 1), even11, {.rule = rule}).empty());
  }
  EXPECT_FALSE(anchor_warning({.rule = AnchorRule::kTopK}, 2));
  EXPECT_FALSE(anchor_warning({.rule = AnchorRule::kOffset}, 2));
}

TEST(Anchors, RulesAreNamed) {
  for (const char* name : {"excess", "sigma", "offset", "topk"}) {
    ASSERT_TRUE(parse_anchor_rule(name)) << name;
    EXPECT_EQ(name_of(*parse_anchor_rule(name)), name);
  }
  EXPECT_FALSE(parse_anchor_rule("Sigma"));
}

TEST(Anchors, ExcessAsksForALiftBesideTheDeviations) {
  std::vector<double> row(50, 1.0 / 50), even = row;  // one key at 1.5 times uniform: seven deviations
  row[7] *= 1.5;
  for (std::size_t j = 0; j < row.size(); ++j) row[j] -= j == 7 ? 0 : 0.01 / 49;
  EXPECT_TRUE(find_anchors(row, even, {}).empty());
  EXPECT_EQ(find_anchors(row, even, {.min_lift = 1.5 - 1e-9}), Positions{7}) << "at least, not more than";
  EXPECT_TRUE(find_anchors(row, even, {.min_lift = 1.5 + 1e-9}).empty());
  EXPECT_EQ(find_anchors(row, even, {.min_lift = 0}), Positions{7});
  EXPECT_EQ(find_anchors(row, even, {.rule = AnchorRule::kSigma}), Positions{7})
      << "the paper's rule asks none";
  EXPECT_EQ(find_anchors(row_with(50, {7}, 0.3), even, {}), Positions{7});
}

TEST(Anchors, LiftIsOverTheNullOfTheSameKey) {
  std::vector<double> null(40, 0.5 / 39), row(40, 0.3 / 38);  // the mask alone gives the first key half
  null[0] = 0.5;
  row[0] = 0.6;
  row[9] = 0.1;
  EXPECT_EQ(find_anchors(row, null, {.epsilon = 1}), Positions{9}) << "0.6 is much, but 1.2 times 0.5";
  EXPECT_EQ(find_anchors(row, null, {.epsilon = 1, .min_lift = 1}), (Positions{0, 9}));
}

TEST(Anchors, SenselessOptionsAreRefused) {
  EXPECT_THROW(find_anchors(kEven24, kEven24, {.min_lift = -1}), UsageError);
  EXPECT_THROW(find_anchors(kEven24, kEven24, {.min_lift = std::nan("")}), UsageError);
  EXPECT_THROW(find_anchors(kEven24, kEven24, {.epsilon = -1}), UsageError);
  EXPECT_THROW(find_anchors(kEven24, kEven24, {.epsilon = std::nan("")}), UsageError);
  EXPECT_THROW(find_anchors(kEven24, kEven24, {.rule = AnchorRule::kTopK, .k = 0}), UsageError);
}

}  // namespace
}  // namespace buoy
