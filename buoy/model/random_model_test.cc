// Random models of named shapes: complete, finite, and sized as their names say.
#include "buoy/model/random_model.h"

#include <cmath>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/model/weights.h"

namespace buoy {
namespace {

TEST(RandomModel, HasTheParametersItsNameSays) {
  const auto billions = [](const std::string& name) {
    Index parameters = 0;
    for (const ExpectedTensor& t : expected_tensors(make_shape(name))) parameters += element_count(t.shape);
    return static_cast<double>(parameters) / 1e9;
  };
  EXPECT_NEAR(billions("llada-8b"), 8.02, 0.01);  // as the models' own cards say
  EXPECT_NEAR(billions("llama-8b"), 8.03, 0.01);
  EXPECT_NEAR(billions("dream-7b"), 7.62, 0.01);
  EXPECT_NEAR(billions("qwen-7b"), 7.62, 0.01);
  EXPECT_THROW(make_shape("gpt-5"), Error);
}

TEST(RandomModel, MiniHasTheBundledModelsSizes) {
  const ModelConfig shape = make_shape("mini"), bundled = read_model_config(source_path("models/mini-mdm"));
  EXPECT_EQ(shape.L, bundled.L);
  EXPECT_EQ(shape.E, bundled.E);
  EXPECT_EQ(shape.H, bundled.H);
  EXPECT_EQ(shape.Hkv, bundled.Hkv);
  EXPECT_EQ(shape.D, bundled.D);
  EXPECT_EQ(shape.F, bundled.F);
  EXPECT_EQ(shape.V, bundled.V);
}

TEST(RandomModel, GivesFiniteLogitsThatDependOnTheInput) {
  ModelConfig config = make_shape("mini");
  config.L = 2;
  const RandomWeights weights(config);
  const auto backend = make_reference_backend();
  const Transformer model(
      config, [&](std::string_view name) { return weights.find(name); }, *backend);
  const std::vector<TokenId> ids = {1, 2, 3};
  const std::vector<Index> rows = {1, 2};
  const ForwardSequence sequence{.ids = ids, .read_rows = rows};
  std::vector<float> logits(static_cast<std::size_t>(2 * config.V));
  backend->download(model.forward({&sequence, 1}), logits);
  for (const float x : logits) ASSERT_TRUE(std::isfinite(x));
  EXPECT_NE(logits[0], logits[static_cast<std::size_t>(config.V)]);
}

}  // namespace
}  // namespace buoy
