// Key change: changes that were set by hand, of keys on top and of tokens that settle.
#include "buoy/analysis/key_change.h"

#include <gtest/gtest.h>

#include "buoy/analysis/analyses.h"
#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

// Step t commits position 18 + t; the answer is three tokens and EOS. Keys 1, 2 and 3 are on top, all else
// receives the same.
Trace keyed() {
  Trace trace = uniform_trace({.L = 1, .S = 6});
  trace.steps.key_change.assign(6 * 24, 0);
  for (Index t = 0; t < 6; ++t) spike(trace.steps.received, t, 24, {1, 2, 3}, 0.2);
  return trace;
}

double value(const Trace& trace, std::string_view part) {
  return value_of(key_change(trace, {}), {.quantity = "key_change", .layer = 0, .part = part});
}

bool has(const Trace& trace, std::string_view part) {
  return look_up(key_change(trace, {}), {.quantity = "key_change", .layer = 0, .part = part}) != nullptr;
}

TEST(KeyChange, TellsTheMostAttendedKeysFromTheRest) {
  Trace trace = keyed();
  for (Index t = 1; t < 6; ++t) {
    for (Index j = 0; j < 24; ++j) trace.steps.key_change[t * 24 + j] = j >= 1 && j <= 3 ? 0.1F : 0.4F;
  }
  EXPECT_NEAR(value(trace, "top"), 0.1, 1e-6);
  EXPECT_NEAR(value(trace, "rest"), 0.4, 1e-6);
  EXPECT_NEAR(value(trace, ""), (3 * 0.1 + 21 * 0.4) / 24, 1e-6);
  EXPECT_NEAR(value(trace, "settling"), 0, 1e-6);
}

TEST(KeyChange, TopIsThatOfTheStepBefore) {
  Trace trace = keyed();
  spike(trace.steps.received, 5, 24, {7, 8, 9}, 0.2);
  for (const Index j : {7, 8, 9}) trace.steps.key_change[5 * 24 + j] = 1;
  EXPECT_EQ(value(trace, "top"), 0);
  EXPECT_NEAR(value(trace, "rest"), 3.0 / (5 * 21), 1e-6);
}

TEST(KeyChange, SettlingIsTheFirstChangeAfterTheCommitMinusLaterOnes) {
  Trace trace = keyed();
  // The token of step g changes at step g + 1 most, and at g as a mask, which does not count.
  for (Index g = 0; g < 3; ++g) {
    for (Index t = 1; t < 6; ++t) {
      trace.steps.key_change[t * 24 + 18 + g] = t == g + 1 ? 0.5F : t > g ? 0.1F : 0.9F;
    }
  }
  EXPECT_NEAR(value(trace, "settling"), 0.4, 1e-6);
}

TEST(KeyChange, CountsConsecutivePassesOnly) {
  Trace trace = keyed();
  for (Index t = 1; t < 6; ++t) trace.steps.key_change[t * 24] = 1;
  trace.steps.steps = {0, 2, 4, 6, 8, 9};
  EXPECT_NEAR(value(trace, ""), 1.0 / 24, 1e-6);
  trace.steps.steps = {0, 2, 4, 6, 8, 10};
  EXPECT_TRUE(key_change(trace, {}).empty());
}

TEST(KeyChange, IsNothingWithoutKeysOrATop) {
  EXPECT_TRUE(key_change(uniform_trace(), {}).empty());
  Trace flat = uniform_trace({.L = 1, .S = 6});
  flat.steps.key_change.assign(6 * 24, 0.3F);
  EXPECT_FALSE(has(flat, ""));
  const Trace trace = keyed();
  for (const Measurement& m : measure(*find_analysis("keys"), TraceWithNull(trace), {})) {
    EXPECT_FALSE(m.null) << "uniform attention says nothing of keys";
  }
}

}  // namespace
}  // namespace buoy
