// How far keys turn: keys that were set by hand, and a golden model's against its own states.
#include "buoy/probe/kept_keys.h"

#include <cmath>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/probe/test_support.h"

namespace buoy {
namespace {

TEST(KeptKeys, ChangeIsOneMinusTheCosineOverAllHeads) {
  KeptKeys kept;
  std::vector<float> out;
  // Two heads, two positions, two dimensions.
  kept.append_change(0, {.keys = std::vector<float>{1, 0, 2, 0, 0, 0, 0, 2}, .heads = 2, .N = 2}, out);
  EXPECT_EQ(out, (std::vector<float>{0, 0})) << "nothing came before";
  out.clear();
  // Position 0: (1,0|0,0) → (0,3|0,0), a right angle. Position 1: (2,0|0,2) → (2,0|0,0), 45 degrees.
  kept.append_change(0, {.keys = std::vector<float>{0, 3, 2, 0, 0, 0, 0, 0}, .heads = 2, .N = 2}, out);
  EXPECT_NEAR(out[0], 1, 1e-6);
  EXPECT_NEAR(out[1], 1 - std::sqrt(0.5), 1e-6);
  out.clear();
  kept.append_change(0, {.keys = std::vector<float>{0, 6, 1, 0, 0, 0, 0, 0}, .heads = 2, .N = 2}, out);
  EXPECT_EQ(out, (std::vector<float>{0, 0})) << "longer or shorter is no turn";
}

TEST(KeptKeys, LayersAreApartAndNewPositionsHaveNoChange) {
  KeptKeys kept;
  std::vector<float> out;
  kept.append_change(0, {.keys = std::vector<float>{1, 0}, .heads = 1, .N = 1}, out);
  kept.append_change(1, {.keys = std::vector<float>{0, 1}, .heads = 1, .N = 1}, out);
  out.clear();
  kept.append_change(1, {.keys = std::vector<float>{0, 1, 5, 5}, .heads = 1, .N = 2}, out);
  EXPECT_EQ(out, (std::vector<float>{0, 0}));
  EXPECT_THROW(kept.append_change(1, {.keys = std::vector<float>(3), .heads = 1, .N = 2}, out),
               InternalError);
}

// Keys of every layer, [L][Hkv, n, D].
std::vector<std::vector<float>> keys_of(const Subject& subject, Index n) {
  std::vector<Index> layers;
  for (Index l = 0; l < subject.config().L; ++l) layers.push_back(l);
  std::vector<std::vector<float>> keys;
  LayerTap tap(layers, {.states = true},
               [&](Index, const AttentionStats& stats) { keys.push_back(stats.key_states); });
  const Index row = 0;
  const ForwardSequence sequence{.ids = std::span(subject.tokens).first(at(n)), .read_rows = {&row, 1}};
  subject.model.forward({&sequence, 1}, &tap);
  return keys;
}

Trace record_two_passes(Subject& subject, const RecordSettings& settings, TokenId second) {
  Recorder recorder(subject.config(), settings, subject.layout);
  for (Index step = 0; step < 2; ++step) {
    if (step == 1) subject.tokens[10] = second;
    recorder.begin_pass({.step = step, .tokens = subject.tokens, .read_rows = std::vector<Index>{9, 10, 11}});
    subject.pass(recorder, 0, 12);
    recorder.end_pass({});
  }
  recorder.begin_finished(subject.tokens, {});
  subject.pass(recorder, 0, 12);
  Trace trace = recorder.take();
  complete(trace);
  return trace;
}

TEST(KeyChange, IsThatOfTheModelsOwnKeys) {
  for (const char* name : {"llada", "dream"}) {
    Subject subject(name);
    const std::vector<std::vector<float>> before = keys_of(subject, 12);
    const Trace trace = record_two_passes(subject, {.keys = true}, 44);
    const std::vector<std::vector<float>> after = keys_of(subject, 12);
    check_trace(trace, "recorded");
    const Index L = trace.L(), Hkv = trace.Hkv(), D = std::ssize(before[0]) / (Hkv * 12);
    ASSERT_EQ(std::ssize(trace.steps.key_change), 2 * L * 12);
    for (Index i = 0; i < L * 12; ++i) EXPECT_EQ(trace.steps.key_change[at(i)], 0) << "the first step";
    for (Index l = 0; l < L; ++l) {
      for (Index j = 0; j < 12; ++j) {
        double ab = 0, aa = 0, bb = 0;
        for (Index h = 0; h < Hkv; ++h) {
          for (Index d = 0; d < D; ++d) {
            const double a = after[at(l)][at((h * 12 + j) * D + d)],
                         b = before[at(l)][at((h * 12 + j) * D + d)];
            ab += a * b, aa += a * a, bb += b * b;
          }
        }
        EXPECT_NEAR(trace.steps.key_change[at((L + l) * 12 + j)], 1 - ab / std::sqrt(aa * bb), 1e-5);
      }
    }
    const float changed = trace.steps.key_change[at(L * 12 + 10)];
    EXPECT_GT(changed, 1e-3) << "another token stands there";
    EXPECT_NEAR(trace.steps.key_change[at(L * 12 + 3)], 0, 1e-6) << "the lowest layer knows no other token";
  }
}

TEST(KeyChange, IsRecordedOnlyWhereAskedForAndRowsAreComputedAnew) {
  Subject masked("llada"), causal("llama-gqa");
  EXPECT_TRUE(record_two_passes(masked, {}, 44).steps.key_change.empty());
  Recorder recorder(causal.config(), {.keys = true}, causal.layout);
  recorder.begin_pass(
      {.step = 0, .tokens = std::span(causal.tokens).first(9), .read_rows = std::vector<Index>{8}});
  ASSERT_TRUE(recorder.request(0));
  EXPECT_FALSE(recorder.request(0)->states);
}

TEST(KeyChange, CanBeAskedForAlone) {
  Subject subject("llada");
  const Trace trace = record_two_passes(
      subject, {.received = false, .flow = false, .answer_rows = false, .qk = false, .keys = true}, 44);
  EXPECT_EQ(std::ssize(trace.steps.key_change), 2 * trace.L() * 12);
  EXPECT_TRUE(trace.steps.received.empty());
}

}  // namespace
}  // namespace buoy
