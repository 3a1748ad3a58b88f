// Drift of anchors whose way is known.
#include "buoy/analysis/drift.h"

#include <gtest/gtest.h>

#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

constexpr double kTolerance = 1e-5;  // of float32

// At step t the read rows of every layer look at `positions[t]`; none: they look evenly.
Trace trace_with(const std::vector<std::vector<Index>>& positions, TraceShape shape = {}) {
  shape.S = std::ssize(positions);
  Trace trace = uniform_trace(shape);
  for (Index t = 0; t < shape.S; ++t) {
    for (Index l = 0; l < shape.L; ++l) {
      if (positions[t].empty()) continue;
      spike(trace.steps.received_read, t * shape.L + l, trace.N(), positions[t], 0.3);
    }
  }
  return trace;
}

double read(const Trace& trace, const char* quantity, Index layer = 2) {
  return value_of(drift(trace, {}), {.quantity = quantity, .layer = layer, .part = "read"});
}

bool has(const Trace& trace, const char* quantity, Index layer = 2) {
  return look_up(drift(trace, {}), {.quantity = quantity, .layer = layer, .part = "read"}) != nullptr;
}

TEST(Drift, AnchorThatMovesOnePositionAStepHasDriftOneAndTurnoverOne) {
  const Trace trace = trace_with({{4}, {5}, {6}, {7}});
  EXPECT_NEAR(read(trace, "drift_per_step"), 1, kTolerance);
  EXPECT_NEAR(read(trace, "drift_relative"), 1.0 / 24, kTolerance);
  EXPECT_EQ(read(trace, "turnover"), 1);
  EXPECT_EQ(read(trace, "lifetime"), 1);
  EXPECT_EQ(read(trace, "both_empty"), 0);
  EXPECT_EQ(read(trace, "anchor_count"), 1);
  EXPECT_EQ(read(trace, "float_index"), 0);
}

TEST(Drift, FixedAnchorHasNoTurnoverAndLivesThroughAllSteps) {
  const Trace trace = trace_with({{9}, {9}, {9}, {9}, {9}});
  EXPECT_EQ(read(trace, "turnover"), 0);
  EXPECT_EQ(read(trace, "lifetime"), 5);
  EXPECT_NEAR(read(trace, "drift_per_step"), 0, kTolerance);
  EXPECT_EQ(read(trace, "first_token_share"), 0);
}

TEST(Drift, AllRowsAreLookedAtApart) {
  Trace trace = trace_with({{4}, {5}, {6}, {7}});
  for (Index row = 0; row < trace.S() * trace.L(); ++row)
    spike(trace.steps.received, row, trace.N(), {0}, 0.3);
  const Measurements found = drift(trace, {});
  EXPECT_EQ(value_of(found, {.quantity = "turnover", .layer = 0, .part = "all"}), 0);
  EXPECT_EQ(value_of(found, {.quantity = "first_token_share", .layer = 0, .part = "all"}), 1);
  EXPECT_EQ(value_of(found, {.quantity = "turnover", .layer = 0, .part = "read"}), 1);
}

TEST(Drift, TurnoverIsOneMinusJaccard) {
  EXPECT_NEAR(read(trace_with({{3, 5}, {5, 9}}), "turnover"), 1 - 1.0 / 3, kTolerance);
  EXPECT_NEAR(read(trace_with({{3, 5}, {5}}), "turnover"), 1 - 1.0 / 2, kTolerance);
}

TEST(Drift, PairsOfEmptySetsHaveNoTurnoverAndAreCountedApart) {
  const Trace trace = trace_with({{}, {}, {6}, {}, {}});
  EXPECT_EQ(read(trace, "both_empty"), 0.5);
  EXPECT_EQ(read(trace, "turnover"), 1) << "of the two pairs that have an anchor";
  EXPECT_EQ(read(trace, "float_both_empty", 0), 0.8) << "one step of five has anchors";
  EXPECT_EQ(read(trace, "anchor_count"), 0.2);
  EXPECT_FALSE(has(trace, "drift_per_step")) << "one step with anchors has no slope";
}

TEST(Drift, WithoutAnyAnchorThereIsNoTurnover) {
  const Trace trace = trace_with({{}, {}, {}});
  EXPECT_FALSE(has(trace, "turnover"));
  EXPECT_FALSE(has(trace, "float_index", 0));
  EXPECT_EQ(read(trace, "both_empty"), 1);
  EXPECT_EQ(read(trace, "float_both_empty", 0), 1);
}

TEST(Drift, LifetimeIsTheMeanLengthOfRuns) {
  // Position 3 runs for 2 and 1 steps, position 8 for 3.
  EXPECT_NEAR(read(trace_with({{3, 8}, {3, 8}, {8}, {3}}), "lifetime"), (2 + 1 + 3) / 3.0, kTolerance);
}

TEST(Drift, SlopeRunsOverPassNumbersAndSkipsStepsWithoutAnchors) {
  Trace trace = trace_with({{4}, {}, {8}, {10}});
  EXPECT_NEAR(read(trace, "drift_per_step"), 2, kTolerance);
  trace.steps.steps = {0, 4, 8, 12};
  EXPECT_NEAR(read(trace, "drift_per_step"), 0.5, kTolerance);
}

TEST(Drift, FloatIndexComparesALayerWithTheNextOne) {
  Trace trace = uniform_trace();
  const std::vector<Index> position = {3, 3, 12};
  for (Index t = 0; t < trace.S(); ++t) {
    for (Index l = 0; l < 3; ++l) {
      spike(trace.steps.received_read, t * 3 + l, trace.N(), {position[l]}, 0.3);
    }
  }
  EXPECT_EQ(read(trace, "float_index", 0), 0);
  EXPECT_EQ(read(trace, "float_index", 2), 1);
  EXPECT_FALSE(has(trace, "float_index", 4)) << "there is no layer above";
}

TEST(Drift, FirstTokenShareCountsStepsWhoseLargestExcessIsThere) {
  EXPECT_EQ(read(trace_with({{0}, {3}, {5}, {3}}), "first_token_share"), 0.25);
  EXPECT_EQ(read(trace_with({{}, {}}), "first_token_share"), 0) << "a flat row has no largest excess";
}

TEST(Drift, SinkShareAsksThatTheFirstTokenIsAnAnchorToo) {
  Trace trace = trace_with({{0}, {0}, {3}, {}});
  EXPECT_EQ(read(trace, "sink_share"), 0.5);
  // At the second step the first token stands out most, but at less than twice its null.
  for (Index l = 0; l < trace.L(); ++l) spike(trace.steps.received_read, trace.L() + l, trace.N(), {0}, 0.02);
  EXPECT_EQ(read(trace, "first_token_share"), 0.5);
  EXPECT_EQ(read(trace, "sink_share"), 0.25);
}

// Six positions are generated; the last two follow the EOS. Steps 0, 1 and 3 write.
TEST(Drift, WritingStepsAreCountedApart) {
  Trace trace = trace_with({{4}, {5}, {5}, {0}, {0}, {9}});
  trace.commit_step = {0, 1, 3, 3, 2, 4};
  const Measurements found = drift(trace, {});
  const auto writing = [&](const char* quantity) {
    return value_of(found, {.quantity = quantity, .layer = 2, .part = "read writing"});
  };
  EXPECT_EQ(value_of(found, {.quantity = "steps"}), 6);
  EXPECT_EQ(value_of(found, {.quantity = "writing_steps"}), 3);
  // Of the changes 0→1, 1→2 and 3→4 the first alone moves the anchor; of all five, three do.
  EXPECT_NEAR(writing("turnover"), 1.0 / 3, kTolerance);
  EXPECT_NEAR(read(trace, "turnover"), 3.0 / 5, kTolerance);
  EXPECT_NEAR(writing("first_token_share"), 1.0 / 3, kTolerance);
  EXPECT_NEAR(writing("sink_share"), 1.0 / 3, kTolerance);
  EXPECT_EQ(writing("anchor_count"), 1);
  EXPECT_EQ(writing("lifetime"), 1) << "4, 5 and 0 are anchors of one writing step each";
  // The slope through (0, 4), (1, 5) and (3, 0).
  EXPECT_NEAR(writing("drift_per_step"), -1.5, kTolerance);
}

TEST(Drift, ARunOfWritingStepsIsCutByAStepThatDoesNotWrite) {
  Trace trace = trace_with({{4}, {4}, {4}, {4}, {4}});
  trace.commit_step = {0, 1, 3, 4, 2, 2};
  EXPECT_EQ(read(trace, "lifetime"), 5);
  const Measurements found = drift(trace, {});
  EXPECT_EQ(value_of(found, {.quantity = "lifetime", .layer = 2, .part = "read writing"}), 2);
}

TEST(Drift, WithoutAWritingStepNothingIsSaidOfThem) {
  Trace trace = trace_with({{4}, {5}});
  trace.commit_step = {7, 7, 7, 7, 0, 1};
  const Measurements found = drift(trace, {});
  EXPECT_EQ(value_of(found, {.quantity = "writing_steps"}), 0);
  for (const Measurement& m : found) EXPECT_FALSE(m.part.ends_with("writing")) << m.quantity << " " << m.part;
}

TEST(Drift, OneStepHasOnlyWhatIsDefined) {
  const Trace trace = trace_with({{4}});
  for (const char* quantity : {"turnover", "both_empty", "lifetime", "drift_per_step", "drift_relative"}) {
    EXPECT_FALSE(has(trace, quantity)) << quantity;
  }
  for (const char* quantity : {"float_index", "first_token_share", "anchor_count"}) {
    EXPECT_TRUE(has(trace, quantity)) << quantity;
  }
}

TEST(Drift, StepsThatWereNotRecordedGiveNothing) {
  Trace trace = uniform_trace();
  trace.steps.received.clear();
  trace.steps.received_read.clear();
  EXPECT_TRUE(drift(trace, {}).empty());
  EXPECT_TRUE(anchor_sets(trace, {}, Rows::kAll).empty());
}

TEST(Drift, AnchorSetsSeeOnlyPositionsThatExist) {
  const Trace trace = uniform_trace({.mask = Mask::kCausal});
  const auto sets = anchor_sets(trace, {.rule = AnchorRule::kTopK, .k = 99}, Rows::kAll);
  ASSERT_EQ(std::ssize(sets), trace.S() * trace.L());
  for (Index t = 0; t < trace.S(); ++t) {
    EXPECT_EQ(std::ssize(sets[t * trace.L()].positions), trace.prompt_length + t);
  }
}

TEST(Drift, AnchorSetsCarryCentreAndPeak) {
  const auto sets = anchor_sets(trace_with({{4, 8}, {}}), {}, Rows::kRead);
  EXPECT_EQ(sets[0].positions, (std::vector<Index>{4, 8}));
  EXPECT_NEAR(*sets[0].centre, 6, kTolerance);
  EXPECT_EQ(sets[0].peak, 4);
  EXPECT_FALSE(sets[3].centre);
  EXPECT_EQ(sets[3].peak, -1);
}

}  // namespace
}  // namespace buoy
