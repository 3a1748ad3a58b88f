// Levels of the sampler's stressors as settings.
#include "buoy/stress/stress_sampler.h"

#include <gtest/gtest.h>

#include "buoy/stress/stress_test_support.h"

namespace buoy {
namespace {

ModelConfig of(const char* family) {
  ModelConfig config;
  config.family = find_family(family);
  return config;
}

SamplerSettings sixteen() {
  SamplerSettings settings;
  settings.gen_length = 16;
  settings.steps = 8;
  return settings;
}

TEST(SamplerLevels, ChangeOneSettingEach) {
  const ModelConfig llada = of("llada"), dream = of("Dream");
  EXPECT_EQ(sampler_at(sixteen(), level_of("steps=4"), llada)->steps, 4);
  EXPECT_EQ(sampler_at(sixteen(), level_of("block-length=4"), llada)->block_length, 4);
  EXPECT_EQ(sampler_at(sixteen(), level_of("remasking=random"), llada)->remasking, Remasking::kRandom);
  EXPECT_EQ(sampler_at(sixteen(), level_of("remasking=random"), dream)->alg, DreamAlgorithm::kOrigin);
  EXPECT_EQ(sampler_at(sixteen(), level_of("irrelevant=0.5"), llada)->steps, 8) << "not of the sampler";
  const SamplerSettings longer = *sampler_at(sixteen(), level_of("trailing-masks=16"), llada);
  EXPECT_EQ(longer.gen_length, 32);
  EXPECT_EQ(longer.steps, 16) << "as many tokens a step as before";
}

TEST(SamplerLevels, MeanNothingToSomeModels) {
  EXPECT_FALSE(sampler_at(sixteen(), level_of("steps=4"), of("llama")));
  EXPECT_FALSE(sampler_at(sixteen(), level_of("block-length=4"), of("Dream")));
  EXPECT_FALSE(sampler_at(sixteen(), level_of("remasking=entropy"), of("llada")));
}

TEST(SamplerLevels, AreRefusedWhereAThresholdMakesThemAllTheSame) {
  SamplerSettings settings = sixteen();
  settings.threshold = 0.9;
  EXPECT_EQ(message_of([&] { sampler_at(settings, level_of("steps=4"), of("llada")); }),
            "steps=4 has no effect with threshold 0.9: every level would be the same");
  EXPECT_THROW(sampler_at(settings, level_of("remasking=random"), of("llada")), UsageError);
  EXPECT_EQ(sampler_at(settings, level_of("steps=4"), of("Dream"))->steps, 4) << "Dream has no threshold";
}

}  // namespace
}  // namespace buoy
