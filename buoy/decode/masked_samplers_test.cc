// The masked samplers on logits that are written down: which positions a step commits, against closed forms.
#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/decode/sampler.h"
#include "buoy/model/test_support.h"

namespace buoy {
namespace {

constexpr Index kV = 8;
constexpr TokenId kWord = 1, kEos = 2, kEndOfTurn = 3;
const std::vector<TokenId> kPrompt = {4, 5};
using Prompts = std::vector<std::vector<TokenId>>;

struct Sure {
  TokenId token = kWord;
  double probability = 0.5;
};

// Logits under which `token` has that probability and all others share the rest.
std::vector<float> logits_of(const Sure& sure) {
  const double rest = (1 - sure.probability) / static_cast<double>(kV - 1);
  std::vector<float> row(static_cast<std::size_t>(kV), static_cast<float>(std::log(rest)));
  row[static_cast<std::size_t>(sure.token)] = static_cast<float>(std::log(sure.probability));
  return row;
}

// A model that is this sure of the generated positions, whatever the others hold.
ScriptedModel scripted(std::string_view model_type, std::vector<Sure> answers) {
  ScriptedModel model(model_type, kV);
  model.settings().eos_ids = {kEos};
  model.settings().end_of_turn = kEndOfTurn;
  const Index shift = model.config().family->logit_shift;
  model.logits = [answers = std::move(answers), shift](const ForwardSequence&, Index row) {
    return logits_of(answers[static_cast<std::size_t>(row + shift - std::ssize(kPrompt))]);
  };
  return model;
}

using Steps = std::vector<Index>;

Steps commit_steps(const Model& model, const LladaOptions& options) {
  return generate_llada(model, {{kPrompt}}, options)[0].commit_step;
}

TEST(LladaScripted, AStepCommitsWhatReachesTheThresholdAndNothingBelow) {
  const ScriptedModel model = scripted("llada", {{kWord, 0.9}, {kWord, 0.58}, {kWord, 0.62}, {kWord, 0.3}});
  EXPECT_EQ(commit_steps(model, {.gen_length = 4, .block_length = 4, .threshold = 0.6}), (Steps{0, 1, 0, 2}));
  EXPECT_EQ(commit_steps(model, {.gen_length = 4, .block_length = 4, .threshold = 0.57}),
            (Steps{0, 0, 0, 1}));
  EXPECT_EQ(commit_steps(model, {.gen_length = 4, .block_length = 4, .threshold = 0.63}),
            (Steps{0, 2, 1, 3}));
}

TEST(LladaScripted, AThresholdNeedsNoStepsHoweverManyBlocksThereAre) {
  const ScriptedModel model = scripted("llada", {{kWord, 0.9}, {kWord, 0.2}, {kWord, 0.8}, {kWord, 0.3}});
  const LladaOptions options{.gen_length = 4, .steps = 1, .block_length = 1, .threshold = 0.6};
  EXPECT_EQ(commit_steps(model, options), (Steps{0, 1, 2, 3})) << "a block of one position a step";
}

TEST(LladaScripted, TheSurestComeFirstAndABlockKeepsItsOrder) {
  const ScriptedModel model = scripted(
      "llada", {{kWord, 0.2}, {kWord, 0.4}, {kWord, 0.3}, {kWord, 0.9}, {kWord, 0.8}, {kWord, 0.95}});
  EXPECT_EQ(commit_steps(model, {.gen_length = 6, .steps = 6, .block_length = 3}), (Steps{2, 0, 1, 4, 5, 3}));
  EXPECT_EQ(commit_steps(model, {.gen_length = 6, .steps = 4, .block_length = 3}), (Steps{1, 0, 0, 2, 3, 2}))
      << "3 masks in 2 steps: 2, then 1";
}

TEST(LladaScripted, ConfidencesThatRoundToTheSameAreTakenFromTheLeft) {
  const ScriptedModel model =
      scripted("llada", {{kWord, 0.9961}, {kWord, 0.9990}, {kWord, 1 - 1e-9}, {kWord, 1 - 1e-12}});
  LladaOptions options{.gen_length = 4, .steps = 4, .block_length = 4};
  EXPECT_EQ(commit_steps(model, options), (Steps{3, 2, 1, 0}));
  options.confidence = ConfidenceType::kF32;
  EXPECT_EQ(commit_steps(model, options), (Steps{3, 2, 0, 1}));
  options.confidence = ConfidenceType::kBf16;  // whose neighbours below 1 are 0.99609375 and 0.9921875
  EXPECT_EQ(commit_steps(model, options), (Steps{3, 0, 1, 2}));
  EXPECT_EQ(generate_llada(model, {{kPrompt}}, options)[0].confidence[0], 0.99609375);
}

// So little noise that the argmax is that of the logits.
constexpr double kAlmostGreedy = 1e-6;

TEST(LladaScripted, EosLosesItsConfidenceOnlyWithoutNoise) {
  const ScriptedModel model = scripted("llada", {{kEos, 0.95}, {kWord, 0.7}});
  LladaOptions options{.gen_length = 2, .steps = 2, .block_length = 2};
  EXPECT_EQ(commit_steps(model, options), (Steps{0, 1}));
  options.confidence_eos_eot_inf = true;
  EXPECT_EQ(commit_steps(model, options), (Steps{1, 0}));
  options.temperature = kAlmostGreedy;
  EXPECT_EQ(commit_steps(model, options), (Steps{0, 1})) << "as the public code does";
}

TEST(LladaScripted, EndOfTurnLosesItsConfidenceWithNoiseToo) {
  const ScriptedModel model = scripted("llada", {{kEndOfTurn, 0.95}, {kWord, 0.7}});
  LladaOptions options{.gen_length = 2, .steps = 2, .block_length = 2, .confidence_eos_eot_inf = true};
  EXPECT_EQ(commit_steps(model, options), (Steps{1, 0}));
  options.temperature = kAlmostGreedy;
  EXPECT_EQ(commit_steps(model, options), (Steps{1, 0}));
}

TEST(LladaScripted, GuidanceMovesLogitsAwayFromThoseWithoutAPrompt) {
  ScriptedModel model("llada", kV);
  // With its prompt the model says 1 (1 nat ahead of 2); without, 2 (0.5 ahead).
  model.logits = [](const ForwardSequence& s, Index) {
    const bool with_prompt = s.ids[0] == kPrompt[0];
    return with_prompt ? std::vector<float>{0, 3, 2, 0, 0, 0, 0, 0}
                       : std::vector<float>{0, 2, 2.5, 0, 0, 0, 0, 0};
  };
  const auto made =
      generate_llada(model, {{kPrompt}}, {.gen_length = 1, .steps = 1, .block_length = 1, .cfg_scale = 2});
  // l = u + 3·(c − u): 2 + 3·1 = 5 and 2.5 − 3·0.5 = 1, the other six 0.
  EXPECT_EQ(made[0].generated()[0], 1);
  EXPECT_NEAR(made[0].confidence[0], std::exp(5) / (std::exp(5) + std::exp(1) + 6), 1e-6);
}

constexpr TokenId kMask = kV - 1;

// A model that is this sure of every position of a sequence that has masks in its prompt.
ScriptedModel sure_of_all(std::string_view model_type, std::vector<Sure> positions) {
  ScriptedModel model(model_type, kV);
  const Index shift = model.config().family->logit_shift;
  model.logits = [positions = std::move(positions), shift](const ForwardSequence&, Index row) {
    return logits_of(positions[static_cast<std::size_t>(row + shift)]);
  };
  return model;
}

TEST(LladaScripted, MasksOfThePromptAreFilledWithTheFirstBlock) {
  const ScriptedModel model =
      sure_of_all("llada", {{}, {3, 0.5}, {}, {1, 0.9}, {1, 0.6}, {2, 0.3}, {2, 0.4}});
  const LladaOptions options{.gen_length = 4, .steps = 4, .block_length = 2};
  const Generation made = generate_llada(model, Prompts{{4, kMask, 5}}, options)[0];
  EXPECT_EQ(made.tokens, (std::vector<TokenId>{4, 3, 5, 1, 1, 2, 2}));
  EXPECT_EQ(made.commit_step, (Steps{0, 0, 3, 2}))
      << "3 masks in 2 steps: 2, then the prompt's; then 1 and 1";
  EXPECT_EQ(made.steps, 4);
  for (const Index steps : {2, 4}) {
    const std::vector<TokenId> masks(9, kMask);  // more than are generated
    const ScriptedModel sure = sure_of_all("llada", std::vector<Sure>(13));
    const auto full = generate_llada(sure, {{masks}}, {.gen_length = 4, .steps = steps, .block_length = 2});
    EXPECT_EQ(std::ranges::count(full[0].tokens, kMask), 0) << steps;
  }
}

TEST(LladaScripted, GuidanceKeepsWhatWasWrittenIntoThePrompt) {
  const ScriptedModel model = sure_of_all("llada", {{}, {3, 0.9}, {}, {1, 0.5}, {1, 0.3}});
  const LladaOptions options{.gen_length = 2, .steps = 2, .block_length = 2, .cfg_scale = 1};
  generate_llada(model, Prompts{{4, kMask, 5}}, options);
  ASSERT_EQ(model.passes().size(), 2u);
  EXPECT_EQ(model.passes()[0][1], (std::vector<TokenId>(5, kMask)));
  EXPECT_EQ(model.passes()[1][0], (std::vector<TokenId>{4, 3, 5, 1, kMask}));
  EXPECT_EQ(model.passes()[1][1], (std::vector<TokenId>{kMask, 3, kMask, 1, kMask}))
      << "the public code masks what was given, and 3 was not";
}

TEST(LladaScripted, AModelThatProposesTheMaskEndsWithAThresholdToo) {
  const ScriptedModel model = sure_of_all("llada", std::vector<Sure>(5, {kMask, 0.9}));
  const LladaOptions options{.gen_length = 4, .block_length = 2, .threshold = 0.5};
  const Generation made = generate_llada(model, Prompts{{4}}, options)[0];
  EXPECT_EQ(made.steps, 4) << "two for each block of two";
  EXPECT_EQ(std::ranges::count(made.tokens, kMask), 4);
}

TEST(DreamScripted, MasksOfThePromptAreFilledToo) {
  // The first row decides positions 0 and 1.
  const ScriptedModel model = sure_of_all("Dream", {{3, 0.5}, {3, 0.5}, {2, 0.6}, {1, 0.9}, {1, 0.9}, {}});
  const Generation made =
      generate_dream(model, Prompts{{kMask, kMask, kMask}},
                     {.gen_length = 2, .steps = 3, .alg = DreamAlgorithm::kMaskgitPlus})[0];
  EXPECT_EQ(made.tokens, (std::vector<TokenId>{3, 3, 2, 1, 1}));
}

std::string error_of_generating(std::string_view model_type, double temperature) {
  ScriptedModel model(model_type, kV);
  model.logits = [](const ForwardSequence&, Index row) {
    std::vector<float> logits(static_cast<std::size_t>(kV), 0.0f);
    if (row == 2) logits[3] = std::nanf("");
    return logits;
  };
  try {
    generate(model, Prompts{{4, 5}}, {.gen_length = 3, .temperature = temperature}, nullptr, 7);
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

TEST(Scripted, LogitsThatAreNotFiniteEndAGenerationByName) {
  for (const double temperature : {0.0, 1.0}) {
    EXPECT_EQ(error_of_generating("llada", temperature),
              "sample 7, step 0, position 2: the logits are not finite, though every layer's output is");
    EXPECT_EQ(error_of_generating("Dream", temperature),
              "sample 7, step 0, position 3: the logits are not finite, though every layer's output is");
  }
}

// How many masks each step of Dream's fills, from the published schedule in double precision.
std::vector<Index> dream_counts(Index masks, Index steps, double eps) {
  std::vector<Index> counts;
  const auto level = [&](Index i) {
    return 1 - (1 - eps) * static_cast<double>(i) / static_cast<double>(steps);
  };
  for (Index i = 0; i < steps; ++i) {
    const double flip = 1 - level(i + 1) / level(i);
    const Index count = i + 1 == steps ? masks : static_cast<Index>(static_cast<double>(masks) * flip);
    counts.push_back(count);
    masks -= count;
  }
  return counts;
}

TEST(DreamScripted, TheLastNoiseLevelDecidesHowManyMasksAStepFills) {
  const ScriptedModel model = scripted("Dream", std::vector<Sure>(30));
  for (const double eps : {1e-3, 0.3, 0.7}) {
    const auto made = generate_dream(
        model, {{kPrompt}}, {.gen_length = 30, .steps = 4, .eps = eps, .alg = DreamAlgorithm::kMaskgitPlus});
    std::vector<Index> counts(4, 0);
    for (const Index step : made[0].commit_step) ++counts[static_cast<std::size_t>(step)];
    EXPECT_EQ(counts, dream_counts(30, 4, eps)) << eps;
  }
  EXPECT_NE(dream_counts(30, 4, 1e-3), dream_counts(30, 4, 0.3)) << "or nothing was tested";
}

// How often each of three positions is the one that the first of two steps fills.
std::array<double, 3> first_shares(double alg_temp) {
  const ScriptedModel model = scripted("Dream", {{kWord, 0.9}, {kWord, 0.6}, {kWord, 0.3}});
  constexpr Index kSamples = 2000;
  const std::vector<std::vector<TokenId>> prompts(static_cast<std::size_t>(kSamples), kPrompt);
  const auto made = generate_dream(
      model, prompts,
      {.gen_length = 3, .steps = 2, .alg = DreamAlgorithm::kMaskgitPlus, .alg_temp = alg_temp, .seed = 5});
  std::array<double, 3> shares{};
  for (const Generation& g : made) {
    for (std::size_t p = 0; p < 3; ++p) shares[p] += g.commit_step[p] == 0 ? 1.0 / kSamples : 0.0;
  }
  return shares;
}

TEST(DreamScripted, PositionsAreDrawnFromTheSoftmaxOfTheirConfidenceOverItsTemperature) {
  for (const double alg_temp : {0.25, 1.0}) {
    const std::array<double, 3> shares = first_shares(alg_temp);
    const std::array<double, 3> confidence = {0.9, 0.6, 0.3};
    double total = 0;
    for (const double c : confidence) total += std::exp(c / alg_temp);
    for (std::size_t p = 0; p < 3; ++p) {
      EXPECT_NEAR(shares[p], std::exp(confidence[p] / alg_temp) / total, 0.035) << alg_temp << " " << p;
    }
  }
  EXPECT_NEAR(first_shares(0)[0], 1, 1e-9) << "0: always the surest";
}

TEST(DreamScripted, EachAlgorithmHasItsOwnConfidence) {
  const ScriptedModel model = scripted("Dream", {{kWord, 0.9}, {kWord, 0.4}});
  const double rest = 0.1 / 7;
  const struct {
    DreamAlgorithm alg;
    double confidence;  // of the first
  } cases[] = {{DreamAlgorithm::kMaskgitPlus, 0.9},
               {DreamAlgorithm::kTopkMargin, 0.9 - rest},
               {DreamAlgorithm::kEntropy, 0.9 * std::log(0.9) + 7 * rest * std::log(rest)}};
  for (const auto& c : cases) {
    const auto made = generate_dream(model, {{kPrompt}}, {.gen_length = 2, .steps = 1, .alg = c.alg});
    EXPECT_NEAR(made[0].confidence[0], c.confidence, 1e-5);
  }
}

}  // namespace
}  // namespace buoy
