// Absorption, concentration and dormant heads of rows with one peak, in closed form.
#include "buoy/analysis/absorption.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "buoy/analysis/concentration.h"
#include "buoy/analysis/dormant_heads.h"
#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

constexpr double kTolerance = 1e-5;  // of float32

double absorbed(const Trace& trace, const char* quantity, const char* part) {
  return value_of(absorption(trace, {}), {.quantity = quantity, .layer = 0, .part = part});
}

void set_value_norms(Trace& trace, Index kv, Index position, float norm) {
  for (Index l = 0; l < trace.L(); ++l) {
    trace.finished.value_norms[(l * trace.Hkv() + kv) * trace.N() + position] = norm;
  }
}

TEST(Absorption, PeakTakesItsMassAndItsShareOfTheRest) {
  Trace trace = uniform_trace();
  spike_finished(trace, {7}, 0.4);
  EXPECT_NEAR(absorbed(trace, "absorb_bos", "finished"), 100 * 0.6 / 24, kTolerance);
  EXPECT_NEAR(absorbed(trace, "absorb_anchors", "finished"), 100 * (0.4 + 0.6 / 24), kTolerance);
  EXPECT_NEAR(absorbed(trace, "absorb_top1", "finished"), 100 * (0.4 + 0.6 / 24), kTolerance);
}

TEST(Absorption, UniformAttentionHasNoAnchorsToAbsorbIt) {
  const Trace trace = uniform_trace();
  EXPECT_EQ(absorbed(trace, "absorb_anchors", "finished"), 0);
  EXPECT_NEAR(absorbed(trace, "absorb_top1", "steps"), 100.0 / 24, kTolerance);
}

TEST(Absorption, EmptyValueCarriesNothingAndHeadsReadTheirOwnKeyHead) {
  Trace trace = uniform_trace();
  std::ranges::fill(trace.finished.value_norms, 3.0F);
  set_value_norms(trace, 0, 0, 0);  // key head 0 serves heads 0 and 1
  for (Index l = 0; l < trace.L(); ++l) {
    for (const Index h : {0, 1}) spike(trace.finished.received, l * trace.H() + h, trace.N(), {0}, 0.9);
  }
  EXPECT_NEAR(absorbed(trace, "absorb_bos", "value-weighted"), 100 * (0.5 * 0 + 0.5 / 24), kTolerance);
  EXPECT_NEAR(absorbed(trace, "absorb_anchors", "value-weighted"), 100 * 0.5 / 24, kTolerance);
  EXPECT_NEAR(absorbed(trace, "absorb_bos", "finished"), 100 * (0.5 * (0.9 + 0.1 / 24) + 0.5 / 24),
              kTolerance);
}

TEST(Absorption, StrongestKeyIsTheOneThatCarriesMost) {
  Trace trace = uniform_trace();
  spike_finished(trace, {7}, 0.4);
  std::ranges::fill(trace.finished.value_norms, 1.0F);
  for (const Index kv : {0, 1}) {
    set_value_norms(trace, kv, 7, 0);
    set_value_norms(trace, kv, 3, 5);  // of 22 keys with norm 1 and this one, all equally looked at
  }
  EXPECT_NEAR(absorbed(trace, "absorb_top1", "value-weighted"), 100 * 5.0 / 27, kTolerance);
  EXPECT_EQ(absorbed(trace, "absorb_anchors", "value-weighted"), 0);
}

TEST(Absorption, StepsAreAveragedAndOnlyMaskedModelsHaveThem) {
  Trace trace = uniform_trace();
  spike(trace.steps.received, 0, trace.N(), {0}, 0.4);  // step 0, layer 0; three steps stay uniform
  EXPECT_NEAR(absorbed(trace, "absorb_bos", "steps"), 100 * (0.4 + 0.6 / 24 + 3.0 / 24) / 4, kTolerance);
  EXPECT_NEAR(absorbed(trace, "absorb_anchors", "steps"), 100 * (0.4 + 0.6 / 24) / 4, kTolerance);
  const Measurements causal = absorption(uniform_trace({.mask = Mask::kCausal}), {});
  EXPECT_FALSE(look_up(causal, {.quantity = "absorb_bos", .layer = 0, .part = "steps"}));
}

TEST(Absorption, ValuesThatAreAllEmptyCarryNothingToMeasure) {
  Trace trace = uniform_trace();
  std::ranges::fill(trace.finished.value_norms, 0.0F);
  const Measurements found = absorption(trace, {});
  EXPECT_FALSE(look_up(found, {.quantity = "absorb_bos", .layer = 0, .part = "value-weighted"}));
}

TEST(Concentration, GiniHasItsClosedForms) {
  EXPECT_NEAR(gini_of(std::vector<double>(8, 0.125)), 0, 1e-15);
  EXPECT_NEAR(gini_of(std::vector<double>{0, 0, 1, 0}), 0.75, 1e-15);
  EXPECT_NEAR(gini_of(std::vector<double>{3, 1, 2}), 2.0 / 9, 1e-15);  // (n+1−2·Σ(n+1−i)x/Σx)/n by hand
  EXPECT_NEAR(gini_of(std::vector<double>{30, 10, 20}), 2.0 / 9, 1e-15);
}

TEST(Concentration, EntropyHasItsClosedForms) {
  EXPECT_NEAR(entropy_of(std::vector<double>(8, 0.125)), std::log(8), 1e-14);
  EXPECT_NEAR(entropy_of(std::vector<double>{0, 1, 0}), 0, 1e-15);
  EXPECT_NEAR(entropy_of(std::vector<double>{2, 2, 0}), std::log(2), 1e-15);
}

TEST(Concentration, HeadsAreMeasuredOneByOneAndAveraged) {
  Trace trace = uniform_trace();
  spike(trace.finished.received, 2, trace.N(), {5}, 1);  // layer 0, head 2 looks at one key alone
  trace.finished.row_entropy[2] = 0.25F;
  const Measurements found = concentration(trace, {});
  EXPECT_NEAR(value_of(found, {.quantity = "effective_share", .layer = 0, .head = 2}), 1.0 / 24, kTolerance);
  EXPECT_NEAR(value_of(found, {.quantity = "effective_share", .layer = 0, .head = 1}), 1, kTolerance);
  EXPECT_NEAR(value_of(found, {.quantity = "effective_share", .layer = 0}), (3 + 1.0 / 24) / 4, kTolerance);
  EXPECT_NEAR(value_of(found, {.quantity = "entropy", .layer = 0}), 0.75 * std::log(24), kTolerance);
  EXPECT_NEAR(value_of(found, {.quantity = "gini", .layer = 0, .head = 2}), 23.0 / 24, kTolerance);
  EXPECT_EQ(value_of(found, {.quantity = "anchor_count", .layer = 0, .head = 2}), 1);
  EXPECT_EQ(value_of(found, {.quantity = "anchor_count", .layer = 0}), 0.25);
  EXPECT_EQ(value_of(found, {.quantity = "row_entropy", .layer = 0, .head = 2}), 0.25);
}

TEST(DormantHeads, SinkWithoutOutputIsDormant) {
  Trace trace = uniform_trace({.L = 1});
  std::ranges::fill(trace.finished.value_norms, 2.0F);
  trace.finished.output_norm = {0.3F, 0.5F, 0.3F, 2.0F};
  spike(trace.finished.received, 0, trace.N(), {0}, 0.9);
  spike(trace.finished.received, 1, trace.N(), {0}, 0.9);
  const Measurements found = dormant_heads(trace, {});
  EXPECT_NEAR(value_of(found, {.quantity = "sink_share", .layer = 0, .head = 0}), 0.9 + 0.1 / 24, kTolerance);
  EXPECT_NEAR(value_of(found, {.quantity = "drain", .layer = 0, .head = 0}), 0.15, kTolerance);
  const double expected[] = {1, 0, 0,
                             0};  // the second drains 0.25, the third has no sink, the fourth neither
  for (Index h = 0; h < 4; ++h) {
    EXPECT_EQ(value_of(found, {.quantity = "dormant", .layer = 0, .head = h}), expected[h]) << h;
  }
}

TEST(DormantHeads, DrainIsMeasuredAgainstTheHeadsOwnValues) {
  Trace trace = uniform_trace({.L = 1});
  for (Index j = 0; j < trace.N(); ++j) {
    set_value_norms(trace, 0, j, 1);
    set_value_norms(trace, 1, j, 4);
  }
  trace.finished.output_norm = {1, 1, 1, 1};
  const Measurements found = dormant_heads(trace, {});
  EXPECT_NEAR(value_of(found, {.quantity = "drain", .layer = 0, .head = 1}), 1, kTolerance);
  EXPECT_NEAR(value_of(found, {.quantity = "drain", .layer = 0, .head = 2}), 0.25, kTolerance);
}

TEST(AnchorValueLead, ComparesAnchorsWithTheOthersHeadByHead) {
  Trace trace = uniform_trace({.L = 1});
  spike_finished(trace, {5, 7}, 0.4);
  std::ranges::fill(trace.finished.value_norms, 2.0F);
  float* first = trace.finished.value_norms.data();
  first[5] = 0.5F, first[7] = 1.5F;  // mean 1, half of the others
  first[24 + 5] = 3.0F;              // the second head's mean 2.5
  const double expected = ((1.0 / 2 - 1) + (2.5 / 2 - 1)) / 2;
  EXPECT_NEAR(value_of(absorption(trace, {}), {.quantity = "anchor_value_lead", .layer = 0}), expected, 1e-6);
}

TEST(AnchorValueLead, IsNothingWithoutAnchorsOrValues) {
  Trace trace = uniform_trace({.L = 1});
  EXPECT_FALSE(look_up(absorption(trace, {}), {.quantity = "anchor_value_lead", .layer = 0}));
  spike_finished(trace, {5}, 0.4);
  EXPECT_TRUE(look_up(absorption(trace, {}), {.quantity = "anchor_value_lead", .layer = 0}));
  std::ranges::fill(trace.finished.value_norms, 0.0F);
  EXPECT_FALSE(look_up(absorption(trace, {}), {.quantity = "anchor_value_lead", .layer = 0}));
}

}  // namespace
}  // namespace buoy
