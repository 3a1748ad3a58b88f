// What a level of a sampler's stressor makes of its settings, family by family.
#include "buoy/stress/stress_sampler.h"

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

ModelConfig config_of(std::string_view model_type) {
  ModelConfig config;
  config.family = find_family(model_type);
  config.context = 64;
  return config;
}

StressLevel level(const char* text) {
  return parse_stress(text, {}).front();
}

const SamplerSettings kSettings = {.gen_length = 32, .steps = 16};

TEST(StressSampler, StepsAreThoseOfTheLevelAndNothingToAnAutoregressiveModel) {
  EXPECT_EQ(sampler_at(kSettings, level("steps=8"), config_of("llada"))->steps, 8);
  EXPECT_EQ(sampler_at(kSettings, level("steps=8"), config_of("Dream"))->steps, 8);
  EXPECT_FALSE(sampler_at(kSettings, level("steps=8"), config_of("llama")));
}

TEST(StressSampler, StepsAreRefusedWhereAThresholdDecidesHowManyThereAre) {
  SamplerSettings sure = kSettings;
  sure.threshold = 0.9;
  EXPECT_EQ(error_of([&] { sampler_at(sure, level("steps=8"), config_of("llada")); }),
            "steps=8 has no effect with threshold 0.9: every level would be the same");
  EXPECT_EQ(sampler_at(sure, level("steps=8"), config_of("Dream"))->steps, 8) << "Dream has no threshold";
  EXPECT_EQ(sampler_at(sure, level("block-length=8"), config_of("llada"))->block_length, 8);
}

TEST(StressSampler, TrailingMasksKeepAsManyTokensAStep) {
  const auto made = sampler_at(kSettings, level("trailing-masks=16"), config_of("llada"));
  EXPECT_EQ(made->gen_length, 48);
  EXPECT_EQ(made->steps, 24);
}

TEST(StressSampler, OrdersHaveTheNameThatEachFamilyKnows) {
  EXPECT_EQ(sampler_at(kSettings, level("remasking=random"), config_of("llada"))->remasking,
            Remasking::kRandom);
  EXPECT_EQ(sampler_at(kSettings, level("remasking=random"), config_of("Dream"))->alg,
            DreamAlgorithm::kOrigin);
  EXPECT_FALSE(sampler_at(kSettings, level("remasking=entropy"), config_of("llada")));
  EXPECT_EQ(sampler_at(kSettings, level("remasking=entropy"), config_of("Dream"))->alg,
            DreamAlgorithm::kEntropy);
}

TEST(StressSampler, OtherStressorsLeaveItAlone) {
  EXPECT_EQ(sampler_at(kSettings, level("irrelevant=0.5"), config_of("llama"))->steps, 16);
}

}  // namespace
}  // namespace buoy
