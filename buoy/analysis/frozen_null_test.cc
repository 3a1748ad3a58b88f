// The frozen null, and what turnover says of attention that does not move while the read rows become fewer.
#include <gtest/gtest.h>

#include "buoy/analysis/drift.h"
#include "buoy/analysis/received.h"
#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

// Row i of one pass: it looks evenly but for one key of its own.
using Focus = std::vector<Index>;  // [N] that key, or -1

std::vector<double> mean_row(const Focus& focus, const std::vector<Index>& rows) {
  const Index N = std::ssize(focus);
  std::vector<double> mean(N);
  for (const Index i : rows) {
    const double mass = focus[i] < 0 ? 0 : 0.9;
    for (Index j = 0; j < N; ++j)
      mean[j] += ((1 - mass) / static_cast<double>(N) + (j == focus[i] ? mass : 0)) /
                 static_cast<double>(rows.size());
  }
  return mean;
}

void store_row(std::vector<float>& array, Index row, const std::vector<double>& values) {
  for (Index j = 0; j < std::ssize(values); ++j)
    array[row * std::ssize(values) + j] = static_cast<float>(values[j]);
}

bool is_subset(const std::vector<Index>& some, const std::vector<Index>& of) {
  return std::ranges::all_of(some, [&](Index row) { return std::ranges::find(of, row) != of.end(); });
}

// A masked model of one layer whose pass t looks as foci[t] says and reads the rows read[t]; all that is
// recorded of it, folded from whole matrices.
Trace focused_trace(const std::vector<Focus>& foci, const std::vector<std::vector<Index>>& read) {
  const Index N = std::ssize(foci[0]), S = std::ssize(foci);
  Trace trace = uniform_trace({.N = N, .G = 6, .L = 1, .S = S});
  std::vector<Index> all(N);
  for (Index i = 0; i < N; ++i) all[i] = i;
  std::ranges::fill(trace.steps.read, std::int8_t{0});
  std::ranges::fill(trace.steps.received_staying, 0.0F);
  for (Index t = 0; t < S; ++t) {
    for (const Index row : read[t]) trace.steps.read[t * N + row] = 1;
    store_row(trace.steps.received, t, mean_row(foci[t], all));
    store_row(trace.steps.received_read, t, mean_row(foci[t], read[t]));
    store_row(trace.steps.received_frozen, t, mean_row(foci[0], read[t]));
    if (t + 1 < S && is_subset(read[t + 1], read[t]))
      store_row(trace.steps.received_staying, t, mean_row(foci[t], read[t + 1]));
  }
  check_trace(trace, "focused");
  return trace;
}

double turnover(const Trace& trace, const char* part) {
  return value_of(drift(trace, {}), {.quantity = "turnover", .layer = 0, .part = part});
}

// Of 60 rows the last six are to be written; each looks at a key of its own. (Four keys of 60 can each stand
// three deviations out; of 30 they could not.)
const Focus kOwnKeys = [] {
  Focus focus(60, -1);
  for (Index i = 54; i < 60; ++i) focus[i] = i - 50;
  return focus;
}();
const std::vector<std::vector<Index>> kShrinking = {{54, 55, 56, 57}, {54, 55}, {55}};

TEST(FrozenNull, AttentionThatStandsStillTurnsOverOnlyWhereTheSetOfRowsMoves) {
  const Trace trace = focused_trace({kOwnKeys, kOwnKeys, kOwnKeys}, kShrinking);
  EXPECT_NEAR(turnover(trace, "read"), 0.5, 1e-9) << "four keys, then two, then one";
  EXPECT_EQ(turnover(trace, "fixed"), 0);
}

TEST(FrozenNull, FixedRowsSeeAttentionMove) {
  Focus moved = kOwnKeys;
  for (Index i = 54; i < 60; ++i) moved[i] += 8;
  const Trace trace = focused_trace({kOwnKeys, moved, moved}, kShrinking);
  EXPECT_NEAR(turnover(trace, "fixed"), 0.5, 1e-9)
      << "all keys are others at the second step, none at the third";
  const std::optional<Trace> frozen = frozen_trace(trace);
  ASSERT_TRUE(frozen);
  EXPECT_EQ(turnover(*frozen, "fixed"), 0);
  EXPECT_NEAR(turnover(*frozen, "read"), 0.5, 1e-9);
}

TEST(FrozenNull, IsTheFirstStepOverTheRowsThatWereRead) {
  Focus moved = kOwnKeys;
  for (Index i = 54; i < 60; ++i) moved[i] += 8;
  // The third step begins a block.
  const std::vector<std::vector<Index>> read = {{54, 55, 56}, {55, 56}, {57, 58}};
  const Trace measured = focused_trace({kOwnKeys, moved, moved}, read);
  const std::optional<Trace> frozen = frozen_trace(measured);
  ASSERT_TRUE(frozen);
  check_trace(*frozen, "frozen");
  const Trace want = focused_trace({kOwnKeys, kOwnKeys, kOwnKeys}, read);
  EXPECT_EQ(frozen->steps.received, want.steps.received);
  EXPECT_EQ(frozen->steps.received_read, want.steps.received_read);
  EXPECT_EQ(frozen->steps.received_staying, want.steps.received_staying);
  EXPECT_EQ(frozen->steps.received_frozen, want.steps.received_frozen);
  EXPECT_EQ(frozen->finished.received, measured.finished.received);
  EXPECT_EQ(frozen->steps.tokens, measured.steps.tokens);
  // A pair across the blocks has no row in common.
  EXPECT_TRUE(still_received(measured, 0, 0));
  EXPECT_FALSE(still_received(measured, 1, 0));
}

TEST(FrozenNull, OfWhatIsRecordedLayerByLayerTheFirstStepIsRepeated) {
  Trace trace = uniform_trace();
  for (std::size_t i = 0; i < trace.steps.flow.size(); ++i) trace.steps.flow[i] = static_cast<float>(i);
  const Trace frozen = *frozen_trace(trace);
  const Index each = trace.L() * trace.R() * trace.R();
  for (Index i = 0; i < trace.S() * each; ++i) EXPECT_EQ(frozen.steps.flow[i], static_cast<float>(i % each));
}

TEST(FrozenNull, IsNothingForACausalModelAndForATraceThatLacksTheRows) {
  EXPECT_FALSE(frozen_trace(uniform_trace({.mask = Mask::kCausal})));
  Trace old = uniform_trace();
  EXPECT_TRUE(frozen_trace(old));
  old.steps.received_frozen.clear();
  EXPECT_FALSE(frozen_trace(old));
  old.steps.received_staying.clear();
  old.steps.read.clear();
  EXPECT_EQ(look_up(drift(old, {}), {.quantity = "both_empty", .layer = 0, .part = "fixed"}), nullptr);
}

TEST(FixedRows, OfACausalModelNeverChange) {
  Trace trace = uniform_trace({.mask = Mask::kCausal});
  const Index N = trace.N(), L = trace.L();
  for (Index t = 0; t < trace.S(); ++t) {
    const Index n = trace.steps.lengths[t];
    for (Index j = 0; j < n; ++j) {
      const double share = 0.5 / static_cast<double>(n) + (j == 4 + t ? 0.5 : 0);
      trace.steps.received[t * L * N + j] = static_cast<float>(share);
    }
  }
  EXPECT_EQ(turnover(trace, "all"), 1) << "the anchor of all rows moves";
  EXPECT_EQ(turnover(trace, "fixed"), 0);
  const Measurements found = drift(trace, {});
  EXPECT_EQ(value_of(found, {.quantity = "both_empty", .layer = 0, .part = "fixed"}), 0);
  EXPECT_EQ(value_of(found, {.quantity = "both_empty", .layer = 2, .part = "fixed"}), 1)
      << "no anchors there";
  EXPECT_EQ(look_up(found, {.quantity = "turnover", .layer = 2, .part = "fixed"}), nullptr);
}

TEST(NullKinds, HaveNames) {
  EXPECT_EQ(name_of(NullKind::kUniform), "uniform");
  EXPECT_EQ(name_of(NullKind::kFrozen), "frozen");
  EXPECT_EQ(name_of(NullKind::kRecency), "recency");
  EXPECT_EQ(name_of(NullKind::kShuffled), "shuffled");
}

}  // namespace
}  // namespace buoy
