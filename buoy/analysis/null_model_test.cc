// The null model against matrices of uniform attention that are written out and pooled the long way.
#include "buoy/analysis/null_model.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "buoy/analysis/test_support.h"
#include "buoy/probe/trace_arrays.h"

namespace buoy {
namespace {

constexpr double kTolerance = 1e-6;  // of float32

void expect_near(const std::vector<float>& got, const std::vector<float>& expected, const char* what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], kTolerance) << what << " " << i;
}

std::vector<Mask> masks() {
  std::vector<Mask> all = {Mask::kFull, Mask::kCausal};
  for (const Index size : {1, 3, 4}) {
    for (const Index offset : {0, 1, 2}) all.push_back(Mask::blocks(size, offset));
  }
  return all;
}

std::vector<TraceShape> shapes() {
  std::vector<TraceShape> out;
  for (const Mask& mask : masks()) {
    out.push_back({.mask = mask});
    out.push_back({.N = 37, .G = 9, .L = 2, .H = 6, .Hkv = 2, .S = 7, .mask = mask, .documents = 5});
    out.push_back(
        {.N = 11, .G = 3, .L = 1, .H = 1, .Hkv = 1, .S = 1, .mask = mask, .documents = 1, .gold = 1});
  }
  return out;
}

TEST(NullModel, ReceivedIsTheColumnMeanOfUniformAttention) {
  for (const Mask& mask : masks()) {
    for (const Index N : {1, 2, 13}) {
      const Matrix A = uniform_attention(mask, N);
      const auto all = uniform_received(mask, Rows::kAll, N), read = uniform_received(mask, Rows::kRead, N);
      for (Index j = 0; j < N; ++j) {
        double mean = 0;
        for (Index i = 0; i < N; ++i) mean += A[i][j] / static_cast<double>(N);
        EXPECT_NEAR(all[j], mean, 1e-15);
        EXPECT_NEAR(read[j], A[N - 1][j], 1e-15);
      }
    }
  }
}

TEST(NullModel, CausalReceivedIsAHarmonicTail) {
  const auto received = uniform_received(Mask::kCausal, Rows::kAll, 4);
  EXPECT_NEAR(received[0], (1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 4, 1e-15);
  EXPECT_NEAR(received[3], 1.0 / 16, 1e-15);
  const auto longer = uniform_received(Mask::kCausal, Rows::kAll, 1000);
  EXPECT_NEAR(std::accumulate(longer.begin(), longer.end(), 0.0), 1, 1e-12);
}

TEST(NullModel, CausalRowEntropyIsTheLogarithmOfAFactorial) {
  EXPECT_NEAR(uniform_row_entropy(Mask::kCausal, 5), std::log(120.0) / 5, 1e-14);
  EXPECT_NEAR(uniform_row_entropy(Mask::kFull, 5), std::log(5.0), 1e-14);
  EXPECT_NEAR(uniform_row_entropy(Mask::blocks(2, 1), 5),
              (std::log(1.0) + 2 * std::log(3.0) + 2 * std::log(5.0)) / 5, 1e-14);
}

TEST(NullModel, FlowOfAnEmptyRegionIsZero) {
  const std::vector<Index> of = {0, 2, 2};
  const auto causal = uniform_flow(Mask::kCausal, of, 3);
  const std::vector<double> expected = {
      1, 0, 0, 0, 0, 0, (1.0 / 2 + 1.0 / 3) / 2, 0, (1.0 / 2 + 2.0 / 3) / 2};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(causal[i], expected[i], 1e-15) << i;
}

TEST(NullModel, TestTracesAndTheirNullsAreValid) {
  for (const TraceShape& shape : shapes()) {
    const Trace trace = uniform_trace(shape);
    EXPECT_NO_THROW(check_trace(trace, "trace"));
    EXPECT_NO_THROW(check_trace(null_trace(trace), "null"));
  }
}

TEST(NullModel, NullOfUniformAttentionIsItself) {
  for (const TraceShape& shape : shapes()) {
    const Trace trace = uniform_trace(shape), null = null_trace(trace);
    expect_near(null.steps.received, trace.steps.received, "received");
    expect_near(null.steps.received_read, trace.steps.received_read, "received_read");
    expect_near(null.steps.received_heads, trace.steps.received_heads, "received_heads");
    expect_near(null.steps.flow, trace.steps.flow, "flow");
    expect_near(null.steps.received_staying, trace.steps.received_staying, "received_staying");
    expect_near(null.steps.received_frozen, trace.steps.received_frozen, "received_frozen");
    expect_near(null.answer.region_mass, trace.answer.region_mass, "region_mass");
    expect_near(null.answer.weight, trace.answer.weight, "weight");
    expect_near(null.answer.entropy, trace.answer.entropy, "entropy");
    expect_near(null.answer.evidence_mass, trace.answer.evidence_mass, "evidence_mass");
    EXPECT_EQ(null.answer.argmax, trace.answer.argmax);
    EXPECT_EQ(null.answer.rows, trace.answer.rows);
    expect_near(null.finished.received, trace.finished.received, "finished.received");
    expect_near(null.finished.row_entropy, trace.finished.row_entropy, "row_entropy");
    expect_near(null.finished.output_norm, trace.finished.output_norm, "output_norm");
    expect_near(null.finished.flow, trace.finished.flow, "finished.flow");
    EXPECT_EQ(null.finished.norm_means, trace.finished.norm_means);
  }
}

TEST(NullModel, WhatIsNotAboutWhereAttentionGoesStaysAsItWas) {
  Trace trace = uniform_trace({.mask = Mask::blocks(4, 1)});
  int more = 1;
  for (const TraceArray& array : trace_arrays()) {
    array.visit(trace, [&](auto& values) {
      using Value = typename std::remove_cvref_t<decltype(values)>::value_type;
      for (Value& value : values) value = static_cast<Value>(value + static_cast<Value>(more));
    });
    ++more;
  }
  trace.steps.lengths.assign(trace.steps.lengths.size(), trace.N());
  const Trace null = null_trace(trace);
  Index same = 0, filled = 0;
  for (const TraceArray& array : trace_arrays()) {
    const bool stays = array.under_uniform == UnderUniform::kSame;
    array.visit(trace, [&](const auto& before) {
      if (before.empty()) return;
      using Values = std::remove_cvref_t<decltype(before)>;
      const Values& after = *std::get<Values*>(array.place(const_cast<Trace&>(null)));
      EXPECT_EQ(before == after, stays) << array.name;
      ++(stays ? same : filled);
    });
  }
  EXPECT_GT(same, 5);
  EXPECT_GT(filled, 8);
}

TEST(NullModel, NullForgetsWhatWasMeasured) {
  Trace trace = uniform_trace({.mask = Mask::kCausal});
  const Trace before = null_trace(trace);
  spike_finished(trace, {7}, 0.5);
  spike(trace.steps.received, 2, trace.N(), {1}, 0.5);
  trace.answer.argmax[3] = 8;
  trace.answer.evidence_mass[3] = 0.9F;
  trace.finished.score_means[5] = 3;
  trace.finished.flow[4] += 0.25F;
  const Trace after = null_trace(trace);
  EXPECT_EQ(after.finished.received, before.finished.received);
  EXPECT_EQ(after.finished.flow, before.finished.flow);
  EXPECT_EQ(after.finished.score_means, before.finished.score_means);
  EXPECT_EQ(after.steps.received, before.steps.received);
  EXPECT_EQ(after.answer.argmax, before.answer.argmax);
  EXPECT_EQ(after.answer.evidence_mass, before.answer.evidence_mass);
}

TEST(NullModel, RowsThatWereNeverWrittenStayEmpty) {
  Trace trace = uniform_trace();
  trace.answer.rows[1] = -1;
  trace.answer.visible[1] = 0;
  const Trace null = null_trace(trace);
  const Index heads = trace.L() * trace.H();
  EXPECT_EQ(null.answer.argmax[heads], -1);
  EXPECT_EQ(null.answer.weight[heads], 0);
  EXPECT_EQ(null.answer.entropy[heads], 0);
  EXPECT_EQ(null.answer.argmax[heads - 1], 0);
  const Index regions = trace.L() * trace.R();
  for (Index i = regions; i < 2 * regions; ++i) EXPECT_EQ(null.answer.region_mass[i], 0);
}

TEST(NullModel, WhatWasNotRecordedStaysEmpty) {
  Trace trace = uniform_trace();
  trace.steps.received.clear();
  trace.steps.received_read.clear();
  trace.steps.received_heads.clear();
  trace.steps.flow.clear();
  trace.answer = {};
  const Trace null = null_trace(trace);
  EXPECT_TRUE(null.steps.received.empty() && null.steps.received_read.empty());
  EXPECT_TRUE(null.steps.received_heads.empty() && null.steps.flow.empty());
  EXPECT_TRUE(null.answer.argmax.empty());
}

}  // namespace
}  // namespace buoy
