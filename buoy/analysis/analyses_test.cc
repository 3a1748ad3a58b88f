// All analyses together: their table, their nulls, and that nothing undefined ever comes out.
#include "buoy/analysis/analyses.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "buoy/analysis/sample_table.h"
#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

constexpr AnchorRule kRules[] = {AnchorRule::kExcess, AnchorRule::kSigma, AnchorRule::kOffset,
                                 AnchorRule::kTopK};

Measurements run(const char* name, const Trace& trace, const AnalysisOptions& options = {}) {
  return measure(*find_analysis(name), TraceWithNull(trace), options);
}

TEST(Analyses, AreFoundByName) {
  const char* names[] = {"drift", "salience", "keys", "absorption", "concentration", "qk",
                         "heads", "dormant",  "flow", "classes",    "tasks",         "experts"};
  ASSERT_EQ(analyses().size(), std::size(names));
  for (const char* name : names) {
    const Analysis* found = find_analysis(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->name, name);
    EXPECT_EQ(std::ranges::count(found->explanation, '.'), 2) << "two sentences: " << name;
  }
  EXPECT_FALSE(find_analysis("unknown"));
}

TEST(Measure, PutsTheNullBesideTheNumber) {
  Trace trace = uniform_trace();
  spike_finished(trace, {0}, 0.5);
  const Measurements found = run("absorption", trace);
  const Measurement* bos = look_up(found, {.quantity = "absorb_bos", .layer = 2, .part = "finished"});
  ASSERT_TRUE(bos && bos->null);
  EXPECT_NEAR(bos->value, 100 * (0.5 + 0.5 / 24), 1e-5);
  EXPECT_NEAR(*bos->null, 100.0 / 24, 1e-5);
}

TEST(Measure, NullOfACausalModelKnowsItsMask) {
  Trace trace = uniform_trace({.mask = Mask::kCausal});
  const auto expected = uniform_received(Mask::kCausal, Rows::kAll, 24);
  spike_finished(trace, {5}, 0.5);
  const Measurements found = run("absorption", trace);
  EXPECT_NEAR(*look_up(found, {.quantity = "absorb_bos", .layer = 0, .part = "finished"})->null,
              100 * expected[0], 1e-5);
}

TEST(Measure, WhatOnlyAnchorsHaveHasNoNull) {
  Trace trace = uniform_trace();
  spike_finished(trace, {5}, 0.5);
  EXPECT_FALSE(look_up(run("qk", trace), {.quantity = "delta_norm", .layer = 0})->null);
  EXPECT_FALSE(look_up(run("tasks", trace), {.quantity = "anchor_profile", .part = "bos/bos"})->null);
}

TEST(Measure, NullOfARatioIsTheRatio) {
  const Analysis ratio{"ratio", "", "", [](const Trace&, const AnalysisOptions&) {
                         return Measurements{{.quantity = "r", .value = 3, .weight = 2}};
                       }};
  const Trace trace = uniform_trace();
  EXPECT_EQ(measure(ratio, TraceWithNull(trace), {})[0].null, 1.5);
}

TEST(Measure, UniformAttentionIsItsOwnNull) {
  for (const Mask mask : {Mask::kFull, Mask::kCausal}) {
    const Trace trace = uniform_trace({.mask = mask});
    for (const AnchorRule rule : kRules) {
      for (const Analysis& analysis : analyses()) {
        for (const Measurement& m : measure(analysis, TraceWithNull(trace), {.anchors = {.rule = rule}})) {
          ASSERT_TRUE(m.null) << analysis.name << " " << m.quantity;
          EXPECT_NEAR(m.value / m.weight, *m.null, 1e-4)
              << analysis.name << " " << m.quantity << " " << m.part;
        }
      }
    }
  }
}

TEST(Measure, NullsOfRatiosToChanceAreOne) {
  Trace trace = uniform_trace({.mask = Mask::kCausal});
  for (float& mass : trace.answer.evidence_mass) mass = 0.9F;
  EXPECT_NEAR(*look_up(run("heads", trace), {.quantity = "lift", .layer = 0, .head = 0, .part = "all"})->null,
              1, 1e-6);
  EXPECT_NEAR(*look_up(run("flow", trace), {.quantity = "gold_lift", .part = "sum"})->null, 1, 1e-6);
  EXPECT_NEAR(*look_up(run("dormant", trace), {.quantity = "drain", .layer = 0, .head = 3})->null,
              kUniformDrain, 1e-6);
}

// Traces at the edge of what is allowed: nothing recorded of the steps, nothing attended, norms of 0, no
// documents.
std::vector<Trace> odd_traces() {
  std::vector<Trace> out;
  for (const Mask mask : {Mask::kFull, Mask::kCausal}) {
    const Trace trace = uniform_trace({.mask = mask});
    Trace bare = trace;
    bare.steps = {};
    bare.answer = {};
    out.push_back(bare);
    Trace hidden = trace;
    for (auto* array : {&hidden.finished.received, &hidden.finished.flow, &hidden.steps.received,
                        &hidden.steps.received_read, &hidden.steps.flow, &hidden.answer.evidence_mass}) {
      std::ranges::fill(*array, 0.0F);
    }
    out.push_back(hidden);
    Trace weightless = trace;
    spike_finished(weightless, {7}, 0.5);
    std::ranges::fill(weightless.finished.value_norms, 0.0F);
    std::ranges::fill(weightless.finished.key_norms, 0.0F);
    out.push_back(weightless);
    Trace single = trace;
    spike_finished(single, {0}, 1);
    for (Index row = 0; row < trace.S() * trace.L(); ++row) {
      spike(single.steps.received, row, trace.N(), {0}, 1);
      spike(single.steps.received_read, row, trace.N(), {row % 9}, 1);
    }
    single.header.correct = true;
    out.push_back(single);
    Trace silent = trace;
    std::ranges::fill(silent.answer.rows, -1);
    std::ranges::fill(silent.answer.visible, 0);
    std::ranges::fill(silent.answer.argmax, -1);
    out.push_back(silent);
    out.push_back(
        uniform_trace({.N = 11, .G = 3, .L = 1, .H = 1, .Hkv = 1, .S = 1, .mask = mask, .documents = 1}));
  }
  return out;
}

TEST(Analyses, NeverEmitWhatIsUndefinedOrTwice) {
  Index emitted = 0;
  for (const Trace& trace : odd_traces()) {
    for (const AnchorRule rule : kRules) {
      SampleTable table;  // refuses numbers that are not finite, weights of 0 and repetitions
      for (const Analysis& analysis : analyses()) {
        const Measurements found = measure(analysis, TraceWithNull(trace), {.anchors = {.rule = rule}});
        for (const Measurement& m : found) EXPECT_TRUE(!m.null || std::isfinite(*m.null)) << m.quantity;
        for (const Measurement& m : found) EXPECT_TRUE(m.layer < 2 * trace.L() && m.head < trace.H());
        EXPECT_NO_THROW(table.add({.sample = std::string(analysis.name)}, found)) << analysis.name;
        emitted += std::ssize(found);
      }
    }
  }
  EXPECT_GT(emitted, 1000);
}

TEST(Analyses, ShareNoQuantityUnderTheSamePlace) {
  Trace trace = uniform_trace();
  spike_finished(trace, {7}, 0.5);
  trace.tokens[trace.prompt_length] = trace.tokens[8];
  SampleTable table;
  for (const Analysis& analysis : analyses()) {
    EXPECT_NO_THROW(table.add({.sample = "one"}, measure(analysis, TraceWithNull(trace), {})))
        << analysis.name;
  }
}

TEST(Analyses, WhatIsMeasuredPerLayerIsNotMeasuredForNone) {
  // Means over layers stand beside what is of no one layer, under the same names.
  Trace trace = uniform_trace();
  spike_finished(trace, {7}, 0.5);
  std::set<std::pair<std::string, std::string>> of_layers, of_none;
  for (const Analysis& analysis : analyses()) {
    for (const Measurement& m : measure(analysis, TraceWithNull(trace), {})) {
      if (m.head < 0) (m.layer < 0 ? of_none : of_layers).insert({m.quantity, m.part});
    }
  }
  EXPECT_GT(of_none.size(), 10u);
  for (const auto& [quantity, part] : of_none)
    EXPECT_FALSE(of_layers.contains({quantity, part})) << quantity << " " << part;
}

}  // namespace
}  // namespace buoy
