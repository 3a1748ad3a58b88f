// The tap that hands layers on: the wanted ones only, in order, with the bits that the capturing tap keeps.
#include "buoy/model/capture.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "buoy/base/testing.h"
#include "buoy/model/transformer.h"

namespace buoy {
namespace {

const std::filesystem::path kGoldens = source_path("tests/goldens");

TEST(LayerTap, HandsOnTheWantedLayersInOrder) {
  const auto backend = make_cpu_backend({.threads = 2});
  const Transformer model(kGoldens / "llama-gqa", *backend, {});
  const ModelConfig& c = model.config();
  const std::vector<TokenId> ids = {5, 9, 30, 17, 3};
  const Index T = std::ssize(ids), last = 4;
  const ForwardSequence sequence{.ids = ids, .read_rows = {&last, 1}};
  CaptureTap whole({.attentions = true});
  model.forward({&sequence, 1}, &whole);

  std::vector<Index> seen;
  AttentionRequest request;
  request.matrix = request.states = true;
  LayerTap tap({0, c.L - 1}, request, [&](Index layer, const AttentionStats& stats) {
    seen.push_back(layer);
    const auto begin = whole.attentions.begin() + layer * c.H * T * T;
    EXPECT_EQ(stats.matrix, std::vector<float>(begin, begin + c.H * T * T));
    EXPECT_EQ(std::ssize(stats.query_states), c.H * T * c.D);
    EXPECT_EQ(std::ssize(stats.key_states), c.Hkv * T * c.D);
  });
  model.forward({&sequence, 1}, &tap);
  ASSERT_LT(c.Hkv, c.H);
  ASSERT_GT(c.L, 2);
  EXPECT_EQ(seen, (std::vector<Index>{0, c.L - 1}));
}

}  // namespace
}  // namespace buoy
