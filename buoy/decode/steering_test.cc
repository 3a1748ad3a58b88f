// What who steers a generation changes between steps, on logits that are written down and on golden models.
#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/decode/sampler.h"
#include "buoy/decode/sampler_json.h"
#include "buoy/io/json.h"
#include "buoy/model/test_support.h"

namespace buoy {
namespace {

constexpr Index kV = 8;
constexpr TokenId kWord = 1, kOther = 5;
const std::vector<TokenId> kPrompt = {4, 6};

// Position p of the answer is kWord with the p-th of these probabilities.
ScriptedModel sure_model(const char* model_type, std::vector<double> sure) {
  ScriptedModel model(model_type, kV);
  const Index shift = model.config().family->logit_shift;
  model.logits = [sure = std::move(sure), shift](const ForwardSequence&, Index row) {
    const double p = sure[at(row + shift - std::ssize(kPrompt))];
    std::vector<float> logits(at(kV), static_cast<float>(std::log((1 - p) / (kV - 1))));
    logits[at(kWord)] = static_cast<float>(std::log(p));
    return logits;
  };
  return model;
}

// Makes each change once, before the step with that number, and remembers what was proposed.
struct Steerer : GenerationObserver {
  std::map<Index, StepChange> changes;
  std::vector<std::vector<Proposal>> proposals;

  StepChange before_step(Index, const Generation& generation) override {
    const auto found = changes.find(generation.steps);
    if (found == changes.end()) return {};
    const StepChange change = found->second;
    changes.erase(found);
    return change;
  }
  void proposed(Index, std::span<const Proposal> all) override {
    proposals.emplace_back(all.begin(), all.end());
  }
};

Generation steered(const Model& model, const SamplerSettings& settings, std::map<Index, StepChange> changes,
                   const std::vector<TokenId>& prompt = kPrompt) {
  Steerer steerer;
  steerer.changes = std::move(changes);
  return generate(model, {{prompt}}, settings, &steerer)[0];
}

using Steps = std::vector<Index>;

SamplerSettings lengths(Index gen_length, Index steps, std::optional<Index> block = {}) {
  return {.gen_length = gen_length, .steps = steps, .block_length = block};
}

TEST(Steering, ProposalsAreThoseOfAllMasksBeforeAnyIsCommitted) {
  const ScriptedModel model = sure_model("llada", {0.3, 0.9, 0.6});
  Steerer steerer;
  generate(model, {{kPrompt}}, lengths(3, 3), &steerer);
  ASSERT_EQ(steerer.proposals.size(), 3u);
  const auto positions = [&](std::size_t step) {
    Steps all;
    for (const Proposal& p : steerer.proposals[step]) all.push_back(p.position);
    return all;
  };
  EXPECT_EQ(positions(0), (Steps{2, 3, 4}));
  EXPECT_EQ(positions(1), (Steps{2, 4})) << "the surest is written";
  EXPECT_EQ(positions(2), (Steps{2}));
  EXPECT_NEAR(steerer.proposals[0][1].confidence, 0.9, 1e-6);
  EXPECT_EQ(steerer.proposals[0][1].token, kWord);
}

TEST(Steering, FewerStepsAreSharedEvenlyByWhatIsLeft) {
  const ScriptedModel model = sure_model("llada", {0.9, 0.8, 0.7, 0.6, 0.5, 0.4});
  EXPECT_EQ(steered(model, lengths(6, 6), {}).commit_step, (Steps{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(steered(model, lengths(6, 6), {{2, {.steps_left = 2}}}).commit_step, (Steps{0, 1, 2, 2, 3, 3}));
  EXPECT_EQ(steered(model, lengths(6, 2), {{1, {.steps_left = 3}}}).commit_step, (Steps{0, 0, 0, 1, 2, 3}))
      << "more steps than there were";
}

TEST(Steering, FewerStepsGoOverTheBlocksThatAreLeft) {
  const ScriptedModel model = sure_model("llada", {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2});
  EXPECT_EQ(steered(model, lengths(8, 8, 4), {{2, {.steps_left = 3}}}).commit_step,
            (Steps{0, 1, 2, 3, 4, 4, 4, 4}))
      << "two for the block at hand, one for the next";
  EXPECT_EQ(steered(model, lengths(8, 8, 4), {{0, {.steps_left = 2}}}).commit_step,
            (Steps{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(Steering, AForcedTokenStaysAndNoStepWroteIt) {
  const ScriptedModel model = sure_model("llada", {0.9, 0.8, 0.7, 0.6});
  const Generation made = steered(model, lengths(4, 4), {{1, {.write = {{5, kOther}}}}});
  EXPECT_EQ(made.tokens, (std::vector<TokenId>{4, 6, kWord, kWord, kWord, kOther}));
  EXPECT_EQ(made.commit_step, (Steps{0, 1, 2, kNotCommitted}));
  EXPECT_EQ(model.passes()[1][0][5], kOther) << "the next pass sees it";
  EXPECT_EQ(model.passes()[0][0][5], kV - 1);
}

TEST(Steering, AMaskThatIsPutBackIsFilledAgain) {
  const ScriptedModel model = sure_model("llada", {0.9, 0.8, 0.7, 0.6});
  EXPECT_EQ(steered(model, lengths(4, 4), {{2, {.remask = {2}}}}).commit_step, (Steps{2, 1, 2, 3}))
      << "three masks in the two steps that are left: two, then one";
  const Generation after = steered(model, lengths(4, 4), {{4, {.remask = {2, 4}}}});
  EXPECT_EQ(after.commit_step, (Steps{4, 1, 4, 3})) << "after the last step: one more for them";
  EXPECT_EQ(after.steps, 5);
}

TEST(Steering, ABlockThresholdFillsWhatIsPutBackToo) {
  const ScriptedModel model = sure_model("llada", {0.9, 0.8, 0.3, 0.2});
  SamplerSettings settings = lengths(4, 4);
  settings.steps = {};
  settings.threshold = 0.7;
  EXPECT_EQ(steered(model, settings, {}).commit_step, (Steps{0, 0, 1, 2}));
  EXPECT_EQ(steered(model, settings, {{3, {.remask = {5}}}}).commit_step, (Steps{0, 0, 1, 3}));
}

TEST(Steering, DreamFillsTheRestInTheStepsThatAreLeft) {
  const ScriptedModel model = sure_model("Dream", {0.9, 0.8, 0.7, 0.6, 0.5, 0.4});
  SamplerSettings settings = lengths(6, 6);
  settings.alg = DreamAlgorithm::kMaskgitPlus;
  const Generation made = steered(model, settings, {{2, {.steps_left = 1}}});
  EXPECT_EQ(made.steps, 3);
  EXPECT_EQ(std::ranges::max(made.commit_step), 2);
  EXPECT_EQ(std::ranges::count(made.commit_step, kNotCommitted), 0);
  const Generation again = steered(model, settings, {{6, {.remask = {3}}}});
  EXPECT_EQ(again.steps, 7);
  EXPECT_EQ(again.commit_step[1], 6);
}

TEST(Steering, WhatCannotBeChangedIsRefused) {
  const ScriptedModel model = sure_model("llada", {0.9, 0.8});
  const auto change = [&](StepChange wanted) { steered(model, lengths(2, 2), {{0, std::move(wanted)}}); };
  EXPECT_THROW(change({.write = {{1, kWord}}}), UsageError) << "the prompt";
  EXPECT_THROW(change({.write = {{4, kWord}}}), UsageError) << "behind the end";
  EXPECT_THROW(change({.write = {{2, kV}}}), UsageError) << "no token";
  EXPECT_THROW(change({.write = {{2, kV - 1}}}), UsageError) << "the mask";
  EXPECT_THROW(change({.remask = {0}}), UsageError);
  EXPECT_THROW(change({.steps_left = 0}), UsageError);
}

// A golden checkpoint on the reference backend.
struct Golden {
  std::unique_ptr<Backend> backend = make_reference_backend();
  std::unique_ptr<Model> model;
  explicit Golden(const std::string& name)
      : model(load_model(source_path("tests/goldens/" + name), *backend, {})) {}
};

TEST(Steering, WhatAppendsGoesOnFromTheForcedTokenAsIfItHadStoodThere) {
  const Golden golden("llama-gqa");
  const std::vector<TokenId> prompt = {5, 6, 7};
  const SamplerSettings settings{.gen_length = 6, .ignore_eos = true};
  const Generation plain = generate(*golden.model, {{prompt}}, settings)[0];
  const TokenId other = plain.tokens[3] == 9 ? 10 : 9;
  const Generation made = steered(*golden.model, settings, {{2, {.write = {{3, other}}}}}, prompt);
  const std::vector<TokenId> begun = {5, 6, 7, other, plain.tokens[4]};
  const Generation from = generate(*golden.model, {{begun}}, {.gen_length = 4, .ignore_eos = true})[0];
  EXPECT_EQ(made.tokens, from.tokens);
  EXPECT_NE(made.tokens, plain.tokens);
  EXPECT_EQ(steered(*golden.model, settings, {{2, {.steps_left = 1}}}, prompt).tokens.size(), 6u);
  EXPECT_THROW(steered(*golden.model, settings, {{2, {.remask = {3}}}}, prompt), UsageError);
}

TEST(Steering, BlocksAfterAForcedTokenAreThoseOfAPromptThatHoldsIt) {
  const Golden golden("sdar");
  const Index B = golden.model->config().block;
  std::vector<TokenId> prompt(at(B), 5);
  SamplerSettings settings{.gen_length = 3 * B, .steps = 3 * B, .ignore_eos = true};
  const Generation plain = generate(*golden.model, {{prompt}}, settings)[0];
  const TokenId other = plain.tokens[at(B)] == 9 ? 10 : 9;
  const Generation made =
      steered(*golden.model, settings, {{B, {.write = {{B, other}}}}}, prompt);  // the first block is full
  std::vector<TokenId> begun(plain.tokens.begin(), plain.tokens.begin() + 2 * B);
  begun[at(B)] = other;
  settings.gen_length = settings.steps.emplace(2 * B);
  EXPECT_EQ(made.tokens, generate(*golden.model, {{begun}}, settings)[0].tokens);
  EXPECT_THROW(steered(*golden.model, settings, {{B, {.remask = {B}}}}, prompt), UsageError)
      << "a finished block is not filled again";
}

TEST(SamplerJson, ARecordDrawsAsTheSettingsThatItWasMadeOf) {
  for (const char* family :
       {"llada", "dream", "llama-gqa", "sdar", "fast-dllm-v2", "stable-diffcoder", "a2d-qwen3"}) {
    const Golden golden(family);
    const ModelConfig& config = golden.model->config();
    SamplerSettings settings{.gen_length = 64, .temperature = 0.5, .seed = 7};
    if (config.block > 0) settings.gen_length = 2 * config.block;
    const Json json = to_json(settings, config);
    EXPECT_EQ(to_json(recorded_sampler(json, "record", config), config), json) << family;
  }
}

TEST(SamplerJson, WhatMeansNothingIsRefusedOrIgnoredAndWhatIsNoNameIsRefused) {
  const Golden golden("llama-gqa");
  const ModelConfig& config = golden.model->config();
  const Json json = {{"gen_length", 5}, {"steps", 3}};
  EXPECT_THROW(sampler_from_json(json, "sampler", config), UsageError);
  EXPECT_EQ(sampler_from_json(json, "sampler", config, {}, Useless::kIgnore).gen_length, 5);
  EXPECT_THROW(sampler_from_json({{"length", 5}}, "sampler", config, {}, Useless::kIgnore), UsageError);
  EXPECT_THROW(sampler_from_json({{"gen_length", "5"}}, "sampler", config), Error);
  EXPECT_THROW(sampler_from_json({{"gen_length", 0}}, "sampler", config), UsageError);
}

}  // namespace
}  // namespace buoy
