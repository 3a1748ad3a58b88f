// Region flow: rollouts with closed forms, and lifts of flows that were set by hand.
#include "buoy/analysis/flow.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "buoy/analysis/null_model.h"
#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

constexpr double kTolerance = 1e-6;

// Regions of the default shape: BOS, Template, Query, Doc1 (4), Doc2 (4, gold), Doc3 (5), Answer, Tail.
constexpr Index kDoc1 = 3, kDoc2 = 4, kDoc3 = 5, kAnswer = 6;

void set_answer_flow(Trace& trace, Index l, double doc1, double doc2, double doc3) {
  float* row = trace.finished.flow.data() + (l * trace.R() + kAnswer) * trace.R();
  std::fill(row, row + trace.R(), 0.0F);
  row[kDoc1] = static_cast<float>(doc1);
  row[kDoc2] = static_cast<float>(doc2);
  row[kDoc3] = static_cast<float>(doc3);
  row[0] = static_cast<float>(1 - doc1 - doc2 - doc3);
}

double value(const Trace& trace, const char* quantity, std::string_view part, Index layer = -1) {
  return value_of(flow(trace, {}), {.quantity = quantity, .layer = layer, .part = part});
}

TEST(Rollout, OfTheIdentityIsTheIdentity) {
  std::vector<double> layers;
  for (int l = 0; l < 3; ++l) layers.insert(layers.end(), {1, 0, 0, 1});
  EXPECT_EQ(rollout(layers, 2), (std::vector<double>{1, 0, 0, 1}));
}

TEST(Rollout, OfUniformFlowHasAClosedForm) {
  // (P + I)/2 keeps the mean and halves what deviates from it, once per layer.
  constexpr Index kK = 4, kL = 3;
  const std::vector<double> out = rollout(std::vector<double>(kL * kK * kK, 0.25), kK);
  for (Index a = 0; a < kK; ++a) {
    for (Index b = 0; b < kK; ++b) {
      EXPECT_NEAR(out[a * kK + b], 0.125 * (a == b ? 1 : 0) + 0.875 / 4, 1e-15);
    }
  }
}

TEST(Rollout, LowerLayersStandOnTheRight) {
  // Lower layer: 1 looks at 0. Upper layer: 2 looks at 1. Only in this order does 0 reach 2.
  const std::vector<double> lower = {1, 0, 0, 1, 0, 0, 0, 0, 1}, upper = {1, 0, 0, 0, 1, 0, 0, 1, 0};
  std::vector<double> layers = lower;
  layers.insert(layers.end(), upper.begin(), upper.end());
  EXPECT_NEAR(rollout(layers, 3)[2 * 3 + 0], 0.25, 1e-15);
  layers = upper;
  layers.insert(layers.end(), lower.begin(), lower.end());
  EXPECT_EQ(rollout(layers, 3)[2 * 3 + 0], 0);
}

TEST(Flow, RowsAddUpToOne) {
  Trace trace = uniform_trace({.mask = Mask::kCausal});
  set_answer_flow(trace, 1, 0.2, 0.5, 0.1);
  for (const Pooling pooling : {Pooling::kSum, Pooling::kPerToken}) {
    const RegionFlow found = region_flow(trace, pooling);
    const Index K = std::ssize(found.regions);
    ASSERT_EQ(K, 8);
    for (Index a = 0; a < K; ++a) {
      double total = 0;
      for (Index b = 0; b < K; ++b) total += found.share[a * K + b];
      EXPECT_NEAR(total, 1, 1e-12);
    }
  }
}

TEST(Flow, UniformFlowOfOneLayerIsHalfItselfAndHalfByLength) {
  const Trace trace = uniform_trace({.L = 1});
  EXPECT_NEAR(value(trace, "flow_sum", "Answer>Doc3"), 0.5 * 5 / 24, kTolerance);
  EXPECT_NEAR(value(trace, "flow_sum", "Answer>Answer"), 0.5 + 0.5 * 4 / 24, kTolerance);
  EXPECT_NEAR(value(trace, "flow_per_token", "Answer>Doc3"), 0.5 / 8, kTolerance);
  EXPECT_NEAR(value(trace, "flow_per_token", "Answer>BOS"), 0.5 / 8, kTolerance);
}

TEST(Flow, RegionsWithoutPositionsDoNotAppear) {
  Trace trace = uniform_trace({.L = 1});
  const Index R = trace.R();
  trace.regions.regions.push_back({RegionKind::kDocument, 4, true});
  std::vector<float> wider;
  for (Index a = 0; a <= R; ++a) {
    for (Index b = 0; b <= R; ++b) wider.push_back(a < R && b < R ? trace.finished.flow[a * R + b] : 0);
  }
  trace.finished.flow = wider;
  trace.answer.region_mass.clear();
  const Measurements found = flow(trace, {});
  EXPECT_FALSE(look_up(found, {.quantity = "flow_sum", .part = "Answer>Doc4"}));
  EXPECT_NEAR(value_of(found, {.quantity = "gold_lift", .part = "sum"}), 1, kTolerance);
}

TEST(GoldLift, OfTheNullIsOne) {
  for (const Mask mask : {Mask::kFull, Mask::kCausal}) {
    for (const Index gold : {1, 2, 3}) {
      const Trace null = null_trace(uniform_trace({.mask = mask, .gold = gold}));
      EXPECT_NEAR(value(null, "gold_lift", "sum"), 1, kTolerance);
      EXPECT_NEAR(value(null, "gold_lift", "per-token"), 1, kTolerance);
    }
  }
}

TEST(GoldLift, ComparesGoldWithTheMeanOfTheOthersAndWithTheNull) {
  Trace trace = uniform_trace({.L = 1});
  set_answer_flow(trace, 0, 0.1, 0.6, 0.2);
  EXPECT_NEAR(value(trace, "gold_lift", "sum"), (0.6 / 0.15) / (4 / 4.5), 1e-5);
  EXPECT_NEAR(value(trace, "gold_lift", "per-token"), (0.6 / 4) / ((0.1 / 4 + 0.2 / 5) / 2), 1e-5);
  EXPECT_NEAR(value(trace, "answer_to_gold", "", 0), 0.6 / 0.15, 1e-5);
}

TEST(GoldLift, TwoGoldsDoNotCountDouble) {
  Trace trace = uniform_trace({.L = 1});
  trace.regions.regions[kDoc1].gold = true;
  set_answer_flow(trace, 0, 0.4, 0.4, 0.1);
  EXPECT_NEAR(value(trace, "answer_to_gold", "", 0), 4, 1e-5);
}

TEST(GoldTop, IsWhetherGoldReceivesMost) {
  Trace trace = uniform_trace({.L = 1});
  set_answer_flow(trace, 0, 0.1, 0.4, 0.2);
  EXPECT_EQ(value(trace, "gold_top", "sum"), 1);
  set_answer_flow(trace, 0, 0.3, 0.2, 0.1);
  EXPECT_EQ(value(trace, "gold_top", "sum"), 0);
  set_answer_flow(trace, 0, 0.1, 0.44, 0.5);  // more in all, less per token
  EXPECT_EQ(value(trace, "gold_top", "sum"), 0);
  EXPECT_EQ(value(trace, "gold_top", "per-token"), 1);
}

TEST(GoldTop, TiesAreShared) {
  EXPECT_NEAR(value(uniform_trace(), "gold_top", "per-token"), 1.0 / 3, 1e-12);
  EXPECT_EQ(value(uniform_trace(), "gold_top", "sum"), 0) << "Doc3 is the longest";
  EXPECT_EQ(value(uniform_trace({.gold = 3}), "gold_top", "sum"), 1);
}

TEST(GoldLift, NeedsGoldAndOtherDocuments) {
  for (const TraceShape& shape : {TraceShape{.gold = 0}, TraceShape{.documents = 1, .gold = 1}}) {
    const Measurements found = flow(uniform_trace(shape), {});
    EXPECT_TRUE(look_up(found, {.quantity = "flow_sum", .part = "Answer>Doc1"}));
    EXPECT_FALSE(look_up(found, {.quantity = "gold_lift", .part = "sum"}));
    EXPECT_FALSE(look_up(found, {.quantity = "gold_top", .part = "sum"}));
    EXPECT_FALSE(look_up(found, {.quantity = "answer_to_gold", .layer = 0}));
  }
}

// A flow with other numbers in every cell; rows add up to 1.
void set_random_flow(Trace& trace) {
  const Index R = trace.R();
  for (Index row = 0; row < trace.L() * R; ++row) {
    double total = 0;
    for (Index b = 0; b < R; ++b) total += draw(9, static_cast<std::uint64_t>(row * R + b));
    for (Index b = 0; b < R; ++b) {
      trace.finished.flow[row * R + b] =
          static_cast<float>(draw(9, static_cast<std::uint64_t>(row * R + b)) / total);
    }
  }
}

TEST(PaperRegions, LeaveOutTheTemplateAndCountTheTailAsAnswer) {
  Trace trace = uniform_trace({.L = 1});
  set_random_flow(trace);
  const Index R = trace.R();
  const auto recorded = [&](Index a, Index b) { return double{trace.finished.flow[a * R + b]}; };
  // Four rows of Answer and two of Tail, whose columns are one; column 1 is the template.
  const auto merged = [&](Index b) { return 4 * recorded(kAnswer, b) + 2 * recorded(kAnswer + 1, b); };
  double total = 0;
  for (Index b = 0; b < R; ++b) total += b == 1 ? 0 : merged(b);
  EXPECT_NEAR(value(trace, "flow_paper", "Answer>Doc2"), merged(kDoc2) / total / 2, kTolerance);
  EXPECT_NEAR(value(trace, "flow_paper", "Answer>Answer"),
              0.5 + (merged(kAnswer) + merged(kAnswer + 1)) / total / 2, kTolerance);
  const Measurements found = flow(trace, {});
  for (const char* gone : {"Answer>Template", "Template>Template", "Tail>Tail"}) {
    EXPECT_TRUE(look_up(found, {.quantity = "flow_sum", .part = gone}));
    EXPECT_FALSE(look_up(found, {.quantity = "flow_paper", .part = gone}));
  }
  EXPECT_NEAR(value(null_trace(trace), "gold_lift", "paper"), 1, kTolerance);
}

TEST(RolloutSensitivity, OfOneLayerHasNoOthersLeft) {
  EXPECT_FALSE(
      look_up(flow(uniform_trace({.L = 1}), {}), {.quantity = "rollout_sensitivity", .part = "sum"}));
}

TEST(RolloutSensitivity, OfTwoLayersHasAClosedForm) {
  // Answer reaches another document only by way of gold: out of the upper layer half of it goes to gold, half
  // of that on in the lower one, by length. What reaches gold: 1/4 (left late) + 1/4 (left early and stayed)
  // + the same share by length.
  const Trace trace = uniform_trace({.L = 2});
  const double other = 0.25 * 4.5 / 24, gold = 0.25 + 0.25 + 0.25 * 4.0 / 24;
  // Of uniform flow: out of Answer in one of two layers, 3/4, by length.
  const double expected = (gold / other) / (4 / 4.5);
  EXPECT_NEAR(value(trace, "rollout_sensitivity", "sum"), expected, 1e-4 * expected);
}

TEST(LayerSensitivity, ForcesThatLayerAlone) {
  const Trace trace = uniform_trace({.L = 2});
  // Forced below: half stays in Answer above and goes to gold below, by 1/2 each; what left above goes by
  // length. Uniform shares: gold 4/24, another 4.5/24.
  const auto lift = [](double gold, double other) { return gold / other / (4 / 4.5); };
  const double by_length = 0.5 * (4.0 / 24), others = 0.5 * (4.5 / 24);
  // Left above (1/2, by length): stays where it went by 1/2, or goes on by length; of what was still Answer's
  // and of what came back to it (4/24), half is forced.
  const double answer = 0.5 + 0.5 * 4 / 24;
  const double gold = by_length * 0.5 + 0.5 * 20.0 / 24 * 0.5 * 4 / 24 + answer * 0.5;
  const double other = others * 0.5 + 0.5 * 20.0 / 24 * 0.5 * 4.5 / 24;
  EXPECT_NEAR(value(trace, "layer_sensitivity", "sum", 0), lift(gold, other), 1e-4);
  // Forced above: half of Answer is gold's, of which half goes on by length; half is Answer's, and leaves
  // below by length.
  const double gold_above = 0.5 * (0.5 + 0.5 * 4 / 24) + 0.5 * 0.5 * 4 / 24;
  const double other_above = 0.5 * 0.5 * 4.5 / 24 + 0.5 * 0.5 * 4.5 / 24;
  EXPECT_NEAR(value(trace, "layer_sensitivity", "sum", 2), lift(gold_above, other_above), 1e-4);
}

TEST(RolloutSensitivity, DoesNotDependOnWhereTheAnswerLooked) {
  Trace trace = uniform_trace();
  set_random_flow(trace);
  const double before = value(trace, "rollout_sensitivity", "per-token");
  for (Index l = 0; l < trace.L(); ++l) set_answer_flow(trace, l, 0.7, 0, 0.1);
  EXPECT_NEAR(value(trace, "rollout_sensitivity", "per-token"), before, 1e-9);
  EXPECT_GT(before, value(trace, "gold_lift", "per-token"));
}

}  // namespace
}  // namespace buoy
