// One head at one step, against whole matrices of another way.
#include "buoy/engine/attention_view.h"

#include <gtest/gtest.h>

#include "buoy/base/at.h"
#include "buoy/base/testing.h"
#include "buoy/io/test_support.h"
#include "buoy/model/capture.h"

namespace buoy {
namespace {

const std::vector<TokenId> kPrompt = {5, 6, 7, 8, 9};

LoadedModel golden(const char* family) {
  return LoadedModel({.model = source_path("tests/goldens").string() + "/" + family,
                      .device = {.device = Device::kReference},
                      .places = {}});
}

SamplerSettings short_sampler() {
  SamplerSettings settings;
  settings.gen_length = 4;
  settings.ignore_eos = true;
  return settings;
}

// The same layer of all heads by CaptureTap, [H, N, N].
std::vector<float> captured(const LoadedModel& model, std::span<const TokenId> tokens, Index layer) {
  CaptureTap tap({.attentions = true});
  const Index first = 0;
  const ForwardSequence sequence{.ids = tokens, .read_rows = {&first, 1}};
  model.model().forward({&sequence, 1}, &tap);
  const std::size_t size = tap.attentions.size() / at(model.config().L);
  const auto begin = tap.attentions.begin() + static_cast<std::ptrdiff_t>(at(layer) * size);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

TEST(AttentionView, IsTheHeadsMatrixOverTheSequenceAsItStood) {
  for (const char* family : {"llada", "dream", "llama-gqa"}) {
    const LoadedModel model = golden(family);
    const AttentionView view =
        view_attention(model, kPrompt, short_sampler(), {.layer = 1, .head = 2, .step = 2});
    const bool appends = model.config().family->writing == Writing::kAppends;
    EXPECT_EQ(view.N(), appends ? 7 : 9) << family;
    const std::vector<float> all = captured(model, view.tokens, 1);
    const std::size_t size = view.weights.size();
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(view.weights[i], all[2 * size + i]) << family;
  }
}

TEST(AttentionView, ReceivesOneInAllAndSoDoesItsNull) {
  const AttentionView view = view_attention(golden("llama-gqa"), kPrompt, short_sampler(), {.layer = 0});
  double received = 0, null = 0;
  for (Index k = 0; k < view.N(); ++k) {
    received += view.received[at(k)];
    null += view.null[at(k)];
  }
  EXPECT_NEAR(received, 1, 1e-6);
  EXPECT_NEAR(null, 1, 1e-12);
  EXPECT_EQ(view.steps, 4);
}

TEST(AttentionView, KnowsWhichRowsWrite) {
  const AttentionView masked = view_attention(golden("llada"), kPrompt, short_sampler(), {.step = 0});
  ASSERT_EQ(masked.writing.size(), 1u);
  EXPECT_GE(masked.writing[0], 5);
  const AttentionView causal = view_attention(golden("llama-gqa"), kPrompt, short_sampler(), {.step = 0});
  EXPECT_EQ(causal.writing, std::vector<Index>{4}) << "the prompt's last row";
}

TEST(AttentionView, ListsTheStrongestFirst) {
  AttentionView view;
  view.tokens = {1, 2, 3};
  view.weights = {0.2f, 0.3f, 0.5f, 0.6f, 0.4f, 0, 0.1f, 0.1f, 0.8f};
  view.received = {0.3, 0.27, 0.43};
  EXPECT_EQ(view.strongest_keys(2), (std::vector<Index>{2, 0}));
  EXPECT_EQ(view.strongest_of(1, 3), (std::vector<Index>{0, 1})) << "what it may not see is left out";
}

TEST(AttentionView, SaysWhatThereIsNot) {
  const LoadedModel model = golden("llada");
  const auto error = [&](const AttentionViewSettings& settings) {
    return error_of([&] { view_attention(model, kPrompt, short_sampler(), settings); });
  };
  EXPECT_EQ(error({.layer = 3}), "layer is 3, expected 0 to 2");
  EXPECT_EQ(error({.layer = 0, .head = 4}), "head is 4, expected 0 to 3");
  EXPECT_EQ(error({.layer = 0, .step = 4}), "step is 4, expected 0 to 3: the generation had no more");
}

}  // namespace
}  // namespace buoy
