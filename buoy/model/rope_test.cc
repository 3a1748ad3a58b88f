// Rotary frequencies and tables against their closed forms.
#include "buoy/model/rope.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace buoy {
namespace {

ModelConfig config_of(Index D, double theta) {
  ModelConfig config;
  config.D = D;
  config.rope_theta = theta;
  config.context = 50;
  return config;
}

TEST(Rope, FrequenciesFallFromOneByAFixedFactor) {
  const std::vector<float> found = rope_frequencies(config_of(8, 10000));
  ASSERT_EQ(found.size(), 4u);
  const double expected[] = {1, 0.1, 0.01, 0.001};  // θ^(−2i/D)
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], expected[i], 1e-6 * expected[i]);
}

TEST(Rope, TablesHoldTheAnglesOfPositionTimesFrequency) {
  const std::unique_ptr<Backend> backend = make_reference_backend();
  const RopeTable table = make_rope_table(config_of(4, 100), *backend);
  ASSERT_EQ(table.cosines.rows(), 50);
  ASSERT_EQ(table.cosines.cols(), 2);
  for (const Index p : {0, 1, 7, 49}) {
    std::vector<float> cosines(2), sines(2);
    backend->download(table.cosines.row_range(p, 1), cosines);
    backend->download(table.sines.row_range(p, 1), sines);
    for (std::size_t i = 0; i < 2; ++i) {
      const double angle = static_cast<double>(p) * (i == 0 ? 1.0 : 0.1);
      EXPECT_NEAR(cosines[i], std::cos(angle), 1e-5) << p;
      EXPECT_NEAR(sines[i], std::sin(angle), 1e-5) << p;
    }
  }
}

TEST(Rope, ScalingStretchesLongWavesAloneAndBlendsBetween) {
  ModelConfig config = config_of(6, 1000);  // frequencies 1, 0.1, 0.01: waves of 6.28, 62.8 and 628 positions
  config.rope_scaling =
      RopeScaling{.factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context = 100};
  const std::vector<float> found = rope_frequencies(config);  // stretched from 100 on, left alone below 25
  EXPECT_NEAR(found[0], 1, 1e-6);
  const double smooth = (100 / (2 * std::numbers::pi / 0.1) - 1) / (4 - 1);
  EXPECT_NEAR(found[1], (1 - smooth) * 0.1 / 8 + smooth * 0.1, 1e-6);
  EXPECT_NEAR(found[2], 0.01 / 8, 1e-8);
}

}  // namespace
}  // namespace buoy
