// Salience: top keys of rows that were set by hand, and agreement that chance alone must not reach.
#include "buoy/analysis/salience.h"

#include <cmath>

#include <gtest/gtest.h>

#include "buoy/analysis/test_support.h"
#include "buoy/analysis/top_keys.h"

namespace buoy {
namespace {

using Positions = std::vector<Index>;

// Step t of these traces commits position P + t; the answer has four positions, the tail two: with six steps,
// four write. Three top keys of 24.
Trace six_steps(Mask mask = Mask::kFull) {
  return uniform_trace({.L = 1, .S = 6, .mask = mask});
}

double value(const Trace& trace, const char* quantity, std::string_view part) {
  return value_of(salience(trace, {}), {.quantity = quantity, .layer = 0, .part = part});
}

bool has(const Trace& trace, const char* quantity, std::string_view part) {
  return look_up(salience(trace, {}), {.quantity = quantity, .layer = 0, .part = part}) != nullptr;
}

// A row of noise, another for every stream.
void randomise(std::vector<float>& array, Index row, Index n, std::uint32_t stream) {
  double total = 0;
  for (Index j = 0; j < n; ++j) total += draw(stream, static_cast<std::uint64_t>(j));
  for (Index j = 0; j < n; ++j) {
    array[row * n + j] = static_cast<float>(draw(stream, static_cast<std::uint64_t>(j)) / total);
  }
}

TEST(TopKeys, AreATenthRoundedUpByExcessAndOfEqualsTheFirst) {
  std::vector<double> received(21, 0.01), null(21, 0.01);
  received[20] = 0.3;
  received[4] = 0.2;
  null[4] = 0.19;
  const auto found = top_keys(received, null);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->positions, (Positions{0, 4, 20}));
  EXPECT_EQ(found->N, 21);
}

TEST(TopKeys, AFlatRowHasNone) {
  EXPECT_FALSE(top_keys(std::vector<double>(20, 0.05), std::vector<double>(20, 0.05)));
}

TEST(Agreement, IsOneForTheSameKeysAndNegativeForNone) {
  const TopKeys a{.positions = {1, 2}, .N = 20}, b{.positions = {3, 4}, .N = 20},
      c{.positions = {2, 3}, .N = 20};
  EXPECT_EQ(agreement(a, a), 1);
  EXPECT_NEAR(*agreement(a, b), -0.1 / 0.9, 1e-12);
  EXPECT_NEAR(*agreement(a, c), 0.4 / 0.9, 1e-12);
}

TEST(Agreement, OfSetsThatGrowKnowsItsChance) {
  const TopKeys before{.positions = {1, 2}, .N = 20}, after{.positions = {1, 2, 20}, .N = 21};
  EXPECT_NEAR(*agreement(before, after), 1, 1e-12);
  // Two of three are found, where two keys of 21 would find 2/21 of them.
  EXPECT_NEAR(*agreement(after, before), (2.0 / 3 - 2.0 / 21) / (1 - 2.0 / 21), 1e-12);
}

TEST(Agreement, OfOneKeyAmongOneIsNothing) {
  const TopKeys only{.positions = {0}, .N = 1};
  EXPECT_FALSE(agreement(only, only));
}

TEST(TopKept, IsTheShareThatStaysBeyondChance) {
  Trace trace = six_steps();
  const Positions tops[] = {{1, 2, 3}, {1, 2, 3}, {1, 2, 4}, {5, 6, 7}, {5, 6, 7}, {5, 6, 7}};
  for (Index t = 0; t < 6; ++t) spike(trace.steps.received, t, 24, tops[t], 0.2);
  const double chance = 3.0 / 24;
  const auto corrected = [&](double share) { return (share - chance) / (1 - chance); };
  EXPECT_NEAR(value(trace, "top_kept", "mean"), corrected((1 + 2.0 / 3 + 0 + 1 + 1) / 5), 1e-9);
  EXPECT_NEAR(value(trace, "top_kept", "mean writing"), corrected((1 + 2.0 / 3 + 0 + 1) / 4), 1e-9);
}

TEST(TopKept, OfHeadsIsTheMeanOverHeads) {
  Trace trace = six_steps();
  for (Index t = 0; t < 6; ++t) {
    spike(trace.steps.received, t, 24, {1, 2, 3}, 0.2);
    for (Index h = 0; h < 4; ++h) {
      // The first head changes all its keys with every step.
      const Index first = h == 0 ? 1 + 3 * t : 4;
      spike(trace.steps.received_heads, t * 4 + h, 24, {first, first + 1, first + 2}, 0.2);
    }
  }
  const double none = -3.0 / 21;
  EXPECT_NEAR(value(trace, "top_kept", "head"), (none + 3) / 4, 1e-9);
  EXPECT_NEAR(value(trace, "top_kept", "mean"), 1, 1e-9);
  trace.steps.received_heads.clear();
  EXPECT_FALSE(has(trace, "top_kept", "head"));
}

TEST(TopKept, OfFixedRowsComparesThoseThatStay) {
  Trace trace = six_steps();
  // What is read moves with every step; the rows that stay look where the next step does, but for step 3,
  // where none stays.
  trace.steps.received_staying.assign(6 * 24, 0);
  for (Index t = 0; t < 6; ++t) {
    spike(trace.steps.received_read, t, 24, {3 * t, 3 * t + 1, 3 * t + 2}, 0.2);
    if (t < 5 && t != 3) spike(trace.steps.received_staying, t, 24, {3 * t + 3, 3 * t + 4, 3 * t + 5}, 0.2);
  }
  spike(trace.steps.received_staying, 4, 24, {0, 1, 2}, 0.2);
  const double none = -3.0 / 21;
  EXPECT_NEAR(value(trace, "top_kept", "fixed writing"), 1, 1e-9);
  EXPECT_NEAR(value(trace, "top_kept", "fixed"), (3 + none) / 4, 1e-9);
}

TEST(TopKept, OfRandomRowsIsChance) {
  Trace trace = uniform_trace({.N = 200, .L = 1, .S = 100});
  for (Index t = 0; t < 100; ++t) randomise(trace.steps.received, t, 200, static_cast<std::uint32_t>(t));
  EXPECT_NEAR(value(trace, "top_kept", "mean"), 0, 0.03);
}

TEST(TopKept, OfUniformAttentionIsNothing) {
  for (const Mask mask : {Mask::kFull, Mask::kCausal}) EXPECT_TRUE(salience(six_steps(mask), {}).empty());
}

TEST(ProxyRecall, PoolsScoresOverThreeNeighbours) {
  Trace trace = six_steps();
  trace.steps.score_means.assign(6 * 24, 0);
  for (Index t = 0; t < 6; ++t) {
    spike(trace.steps.received, t, 24, {9, 10, 11}, 0.2);
    trace.steps.score_means[t * 24 + 10] = 5;  // named with both its neighbours
  }
  EXPECT_NEAR(value(trace, "proxy_recall", "lag 0"), 1, 1e-9);
  EXPECT_NEAR(value(trace, "proxy_recall", "lag 1 writing"), 1, 1e-9);
}

TEST(ProxyRecall, ByLagComparesWithTheNextStep) {
  Trace trace = six_steps();
  trace.steps.score_means.assign(6 * 24, 0);
  for (Index t = 0; t < 6; ++t) {
    spike(trace.steps.received, t, 24, {1 + 3 * t, 2 + 3 * t, 3 + 3 * t}, 0.2);
    trace.steps.score_means[t * 24 + 3 * t + 5] = 5;  // the middle of the next step's
  }
  EXPECT_NEAR(value(trace, "proxy_recall", "lag 0"), -3.0 / 21, 1e-9);
  EXPECT_NEAR(value(trace, "proxy_recall", "lag 1"), 1, 1e-9);
}

TEST(ProxyRecall, OfEqualScoresIsNothing) {
  Trace trace = six_steps();
  spike(trace.steps.received, 0, 24, {9}, 0.2);
  trace.steps.score_means.assign(6 * 24, 2);
  EXPECT_FALSE(has(trace, "proxy_recall", "lag 0"));
}

TEST(MaskQueryAgreement, LooksAtThePromptOnly) {
  Trace trace = six_steps();
  for (Index t = 0; t < 6; ++t) {
    // Two top keys of 18; what stands in the answer does not count.
    spike(trace.steps.received, t, 24, {3, 7}, 0.1);
    spike(trace.steps.received_read, t, 24, {3, t < 3 ? 7 : 8, 20, 21}, 0.1);
  }
  const auto corrected = [](double share) { return (share - 2.0 / 18) / (1 - 2.0 / 18); };
  EXPECT_NEAR(value(trace, "mask_query_agreement", ""), corrected(0.75), 1e-9);
  EXPECT_NEAR(value(trace, "mask_query_agreement", "writing"), corrected((3 + 0.5) / 4), 1e-9);
}

TEST(MaskQueryAgreement, IsOfMaskedModels) {
  Trace trace = six_steps(Mask::kCausal);
  for (Index t = 0; t < 6; ++t) {
    spike(trace.steps.received, t, 24, {3, 7}, 0.1);
    spike(trace.steps.received_read, t, 24, {3, 7}, 0.1);
  }
  EXPECT_FALSE(has(trace, "mask_query_agreement", ""));
  EXPECT_TRUE(has(trace, "top_kept", "mean"));
}

TEST(PeakSpread, IsTheDeviationOfThePeakOverTheLength) {
  Trace trace = six_steps();
  const Index peaks[] = {2, 6, 2, 6, 10, 10};
  for (Index t = 0; t < 6; ++t) spike(trace.steps.received_read, t, 24, {peaks[t]}, 0.2);
  EXPECT_NEAR(value(trace, "peak_spread", "read writing"), 2.0 / 24, 1e-9);
  EXPECT_NEAR(value(trace, "peak_spread", "read"), std::sqrt((16 + 0 + 16 + 0 + 16 + 16) / 6.0) / 24, 1e-9);
  EXPECT_FALSE(has(trace, "peak_spread", "all")) << "a flat row has no peak";
}

TEST(PeakSpread, OfAFixedSinkIsZeroAndOfOneStepNothing) {
  Trace trace = six_steps();
  for (Index t = 0; t < 6; ++t) spike(trace.steps.received, t, 24, {0}, 0.2);
  EXPECT_EQ(value(trace, "peak_spread", "all"), 0);
  Trace one = six_steps();
  spike(one.steps.received, 2, 24, {0}, 0.2);
  EXPECT_FALSE(has(one, "peak_spread", "all"));
}

}  // namespace
}  // namespace buoy
