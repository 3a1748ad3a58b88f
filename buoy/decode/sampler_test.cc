// Sampler settings: what has an effect on whom, and how they are written down.
#include "buoy/decode/sampler.h"

#include <limits>

#include <gtest/gtest.h>

#include "buoy/base/cancel.h"
#include "buoy/base/testing.h"
#include "buoy/io/json.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

std::string plain(std::string_view name) {
  return std::string(name);
}

std::set<std::string> useless(const SamplerSettings& settings, const char* family,
                              const std::set<std::string>& given) {
  std::set<std::string> names;
  for (const auto& [name, why] : useless_settings(settings, given, *find_family(family), plain)) {
    names.insert(name);
  }
  return names;
}

using Names = std::set<std::string>;

TEST(UselessSettings, AreThoseOfOtherFamilies) {
  const Names all = {"steps", "block_length", "alg", "top_k", "stop_ids", "temperature"};
  SamplerSettings settings;
  settings.temperature = 1;
  settings.alg = DreamAlgorithm::kEntropy;
  EXPECT_EQ(useless(settings, "llada", all), (Names{"alg", "top_k", "stop_ids"}));
  EXPECT_EQ(useless(settings, "Dream", all), (Names{"stop_ids"}));
  EXPECT_EQ(useless(settings, "llama", all), (Names{"steps", "block_length", "alg"}));
}

TEST(UselessSettings, AreThoseThatOthersSwitchOff) {
  SamplerSettings settings;
  EXPECT_EQ(useless(settings, "llada", {"seed"}), Names{"seed"}) << "nothing is drawn";
  settings.remasking = Remasking::kRandom;
  EXPECT_EQ(useless(settings, "llada", {"seed"}), Names{});
  EXPECT_EQ(useless(settings, "llada", {"confidence"}), Names{"confidence"}) << "nothing is ranked";
  settings.threshold = 0.9;
  EXPECT_EQ(useless(settings, "llada", {"steps", "threshold"}), (Names{"steps", "threshold"}));
  EXPECT_EQ(useless(settings, "llama", {"top_p"}), Names{"top_p"}) << "temperature is 0";
  EXPECT_EQ(useless(settings, "Dream", {"cache_refresh"}), Names{"cache_refresh"}) << "there is no cache";
  EXPECT_EQ(useless(settings, "llama", {"cache"}), Names{"cache"});
}

TEST(UselessSettings, AreSpelledAsTheUserTypedThem) {
  const auto flag = [](std::string_view name) { return "--" + std::string(name); };
  SamplerSettings settings;
  settings.threshold = 0.9;
  EXPECT_EQ(useless_settings(settings, {"steps"}, *find_family("llada"), flag).at("steps"),
            "--steps has no effect with --threshold");
}

TEST(SamplerSettings, AreReadAndWrittenByName) {
  for (const std::string& name : remasking_names()) EXPECT_EQ(name_of(parse_remasking(name)), name);
  for (const std::string& name : dream_algorithm_names())
    EXPECT_EQ(name_of(parse_dream_algorithm(name)), name);
  for (const std::string& name : confidence_type_names())
    EXPECT_EQ(name_of(parse_confidence_type(name)), name);
  EXPECT_EQ(error_of([] { parse_remasking("low"); }),
            "remasking is \"low\", expected one of low_confidence, random, sequential");
}

TEST(SamplerSettings, BoundTheStepsUnlessOnlyTheRunTells) {
  const auto most = [](const SamplerSettings& settings, const char* family) {
    ModelConfig config;
    config.family = find_family(family);
    return most_steps(settings, config);
  };
  SamplerSettings settings;
  settings.gen_length = 48;
  EXPECT_EQ(most(settings, "llada"), 48);
  settings.steps = 12;
  EXPECT_EQ(most(settings, "llada"), 12);
  EXPECT_EQ(most(settings, "Dream"), 12);
  EXPECT_EQ(most(settings, "llama"), 48) << "a token a step, whatever steps says";
  EXPECT_EQ(most(settings, "sdar"), std::nullopt);
  settings.threshold = 0.9;
  EXPECT_EQ(most(settings, "llada"), std::nullopt);
}

TEST(SamplerSettings, HaveDefaultsThatFollowTheLength) {
  SamplerSettings settings;
  settings.gen_length = 48;
  EXPECT_EQ(llada_options(settings).steps, 48);
  EXPECT_EQ(llada_options(settings).block_length, 48);
  EXPECT_EQ(dream_options(settings).steps, 48);
  ModelConfig config;
  config.eos_ids = {7};
  config.V = 10;
  settings.stop_ids = {9};
  EXPECT_EQ(autoregressive_options(settings, config).stop_ids, (std::vector<TokenId>{7, 9}));
  settings.ignore_eos = true;
  EXPECT_EQ(autoregressive_options(settings, config).stop_ids, (std::vector<TokenId>{9}));
}

// Asks to stop before a given pass.
class Stopper : public GenerationObserver {
 public:
  explicit Stopper(Index at) : at_(at) {}
  Tap* before_pass(std::span<const Pass>) override {
    ++passes;
    return nullptr;
  }
  bool cancelled() const override { return passes == at_; }
  Index passes = 0;

 private:
  Index at_;
};

TEST(Observers, StopEverySamplerBeforeAPass) {
  const std::unique_ptr<Backend> backend = make_reference_backend();
  const std::vector<std::vector<TokenId>> prompts = {{5, 6, 7}};
  for (const char* family : {"llada", "dream", "llama-gqa"}) {
    const auto model = load_model(source_path("tests/goldens") / family, *backend, {});
    SamplerSettings settings;
    settings.gen_length = 4;
    settings.ignore_eos = true;
    Stopper stopper(2);
    EXPECT_THROW(generate(*model, prompts, settings, &stopper), Cancelled) << family;
    EXPECT_EQ(stopper.passes, 2) << family;
  }
}

TEST(SamplerSettings, WhatWouldHaveNoEffectIsRefused) {
  ModelConfig masked, causal;
  masked.family = find_family("llada");
  causal.family = find_family("llama");
  masked.V = causal.V = 10;
  masked.context = causal.context = 128;
  EXPECT_NO_THROW(check_settings({.gen_length = 8, .steps = 8}, masked));
  for (const Index length : {Index{129}, std::numeric_limits<Index>::max()}) {
    EXPECT_THROW(check_settings({.gen_length = length}, masked), UsageError) << length;
    EXPECT_THROW(check_settings({.gen_length = length}, causal), UsageError) << length;
  }
  EXPECT_THROW(check_settings({.gen_length = 8, .steps = 9}, masked), UsageError)
      << "a step fills at least one";
  EXPECT_NO_THROW(check_settings({.stop_ids = {0, 9}}, causal));
  for (const TokenId outside : {-1, 10})
    EXPECT_THROW(check_settings({.stop_ids = {outside}}, causal), UsageError) << outside;
}

}  // namespace
}  // namespace buoy
