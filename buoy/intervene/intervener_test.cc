// When and on what an intervention acts: steps, layers and the pass it goes by, on a scripted model.
#include "buoy/intervene/intervener.h"

#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "buoy/base/testing.h"
#include "buoy/model/test_support.h"

namespace buoy {
namespace {

constexpr Index kN = 10;

// Each pass over the model gives all its attention to one key: pass p to key p + 1.
class Intervened : public testing::Test {
 protected:
  Intervened() : model_("llada", 16), tokenizer_(Tokenizer::load(source_path("models/mini-mdm"))) {
    model_.settings().L = 2;
    model_.column_sums = [](Index pass, Index, Index, Index N) {
      std::vector<float> sums(static_cast<std::size_t>(N), 0.0f);
      sums[static_cast<std::size_t>(pass + 1)] = static_cast<float>(N);
      return sums;
    };
    generation_.tokens.assign(static_cast<std::size_t>(kN), 1);
    prompt_.ids = generation_.tokens;
  }

  // Runs `steps` passes under the intervention. Per step and layer: the keys that were hidden.
  using Hidden = std::vector<std::vector<std::set<Index>>>;
  Hidden run(const InterventionSettings& settings, Index steps) {
    const TokenizedPrompt* prompts[] = {&prompt_};
    Intervener intervener(model_, tokenizer_, settings, prompts, {});
    const Index read = 0;
    Hidden hidden;
    for (Index step = 0; step < steps; ++step) {
      generation_.steps = step;
      const GenerationObserver::Pass pass{0, &generation_, generation_.tokens, {&read, 1}};
      Tap* tap = intervener.before_pass({&pass, 1});
      const ForwardSequence sequence{.ids = generation_.tokens, .read_rows = {&read, 1}};
      const std::size_t before = model_.plans().size();
      model_.forward({&sequence, 1}, tap);
      hidden.emplace_back();
      for (std::size_t i = before; i < model_.plans().size(); ++i)
        hidden.back().push_back(keys(model_.plans()[i]));
    }
    return hidden;
  }

  static std::set<Index> keys(const ScriptedModel::SeenPlan& plan) {
    std::set<Index> hidden;
    for (std::size_t j = 0; j < plan.key_bias.size(); ++j) {
      if (plan.key_bias[j] == -std::numeric_limits<float>::infinity()) hidden.insert(static_cast<Index>(j));
    }
    return hidden;
  }

  ScriptedModel model_;
  Tokenizer tokenizer_;
  Generation generation_;
  TokenizedPrompt prompt_;
};

TEST_F(Intervened, GoesByAnUnmodifiedPassOverTheSameTokens) {
  const InterventionSettings settings = parse_intervention("mask-anchors=1").front();
  // Passes 0, 2, 4 look, passes 1, 3, 5 run: what a step hides is what its own look has found.
  EXPECT_EQ(run(settings, 3), (Hidden{{{1}, {1}}, {{3}, {3}}, {{5}, {5}}}));
}

TEST_F(Intervened, MayGoByTheStepBeforeAndThenHasNothingAtTheFirst) {
  InterventionSettings settings = parse_intervention("mask-anchors=1").front();
  settings.from = AnchorsFrom::kPreviousStep;
  EXPECT_EQ(run(settings, 3), (Hidden{{{}, {}}, {{1}, {1}}, {{3}, {3}}}));
}

TEST_F(Intervened, ActsAtTheNamedStepsAlone) {
  InterventionSettings settings = parse_intervention("mask-bos").front();
  settings.site.steps = parse_steps("1,2");
  EXPECT_EQ(run(settings, 4), (Hidden{{{}, {}}, {{0}, {0}}, {{0}, {0}}, {{}, {}}}));
  settings.site.steps = parse_steps("every:3");
  EXPECT_EQ(run(settings, 4), (Hidden{{{0}, {0}}, {{}, {}}, {{}, {}}, {{0}, {0}}}));
}

TEST_F(Intervened, ActsAtTheNamedLayersAlone) {
  InterventionSettings settings = parse_intervention("mask-bos").front();
  settings.site.layers = {1};
  EXPECT_EQ(run(settings, 2), (Hidden{{{}, {0}}, {{}, {0}}}));
}

TEST_F(Intervened, CutHeadsReachTheModelAsGainsOfTheirOwnLayer) {
  model_.settings().H = model_.settings().Hkv = 3;
  InterventionSettings settings = parse_intervention("cut-heads=2").front();
  settings.ranking = {{1, 2}, {0, 1}, {0, 0}, {1, 0}};
  run(settings, 1);
  ASSERT_EQ(model_.plans().size(), 2u);
  EXPECT_EQ(model_.plans()[0].head_gain, (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(model_.plans()[1].head_gain, (std::vector<float>{1, 1, 0}));
}

TEST_F(Intervened, AskForNoSecondPassWhereTheyNeedNone) {
  run(parse_intervention("mask-bos").front(), 3);
  EXPECT_EQ(model_.passes().size(), 3u);
  InterventionSettings late = parse_intervention("mask-anchors=1").front();
  late.site.steps = parse_steps("2");
  run(late, 3);
  EXPECT_EQ(model_.passes().size(), 3u + 4u) << "a look at step 2 only";
}

}  // namespace
}  // namespace buoy
