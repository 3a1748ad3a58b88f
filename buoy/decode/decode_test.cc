// The samplers' promises: quotas, order, independence of batch and threads, filters and draws.
#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/decode/autoregressive.h"
#include "buoy/decode/masked_diffusion.h"
#include "buoy/decode/masked_pass.h"
#include "buoy/decode/sampler.h"
#include "buoy/model/transformer.h"
#include "buoy/model/weights.h"

namespace buoy {
namespace {

const std::filesystem::path kGoldens = source_path("tests/goldens");

struct Loaded {
  std::unique_ptr<Backend> backend;
  Transformer model;
  explicit Loaded(const char* name, int threads = 2)
      : backend(make_cpu_backend({.threads = threads})), model(kGoldens / name, *backend, {}) {}
};

bool same(const Generation& a, const Generation& b) {
  return a.tokens == b.tokens && a.commit_step == b.commit_step && a.confidence == b.confidence &&
         a.steps == b.steps;
}

const std::vector<std::vector<TokenId>> kPrompts = {{5, 6, 7}, {9, 8, 7, 6, 5, 4, 3}, {200}};

// Every sampler with settings that draw random numbers, as one function of prompts and first sample.
struct SamplerCase {
  const char* name;
  const char* model;
  std::vector<Generation> (*run)(const Model&, std::span<const std::vector<TokenId>>, Index first_sample);
};

void PrintTo(const SamplerCase& c, std::ostream* out) {
  *out << c.name;
}

const SamplerCase kSamplers[] = {
    {"llada", "llada",
     [](const Model& m, std::span<const std::vector<TokenId>> p, Index first) {
       return generate_llada(
           m, p,
           {.gen_length = 12, .steps = 6, .block_length = 4, .temperature = 0.8, .cfg_scale = 0.5, .seed = 3},
           nullptr, first);
     }},
    {"llada_random", "llada",
     [](const Model& m, std::span<const std::vector<TokenId>> p, Index first) {
       return generate_llada(
           m, p, {.gen_length = 8, .steps = 8, .block_length = 8, .remasking = Remasking::kRandom, .seed = 3},
           nullptr, first);
     }},
    {"llada_threshold", "llada",
     [](const Model& m, std::span<const std::vector<TokenId>> p, Index first) {
       return generate_llada(m, p, {.gen_length = 8, .block_length = 4, .threshold = 0.02}, nullptr, first);
     }},
    {"dream_origin", "dream",
     [](const Model& m, std::span<const std::vector<TokenId>> p, Index first) {
       return generate_dream(m, p,
                             {.gen_length = 10,
                              .steps = 5,
                              .sampling = {.temperature = 1, .top_p = 0.9, .order = FilterOrder::kTopPFirst},
                              .seed = 3},
                             nullptr, first);
     }},
    {"dream_entropy", "dream",
     [](const Model& m, std::span<const std::vector<TokenId>> p, Index first) {
       return generate_dream(
           m, p, {.gen_length = 10, .steps = 5, .alg = DreamAlgorithm::kEntropy, .alg_temp = 0.3, .seed = 3},
           nullptr, first);
     }},
    {"autoregressive", "qwen2-tied",
     [](const Model& m, std::span<const std::vector<TokenId>> p, Index first) {
       return generate_autoregressive(
           m, p, {.max_new_tokens = 9, .sampling = {.temperature = 1, .top_p = 0.95, .top_k = 40}, .seed = 3},
           nullptr, first);
     }},
    {"greedy", "llama-gqa",
     [](const Model& m, std::span<const std::vector<TokenId>> p, Index first) {
       return generate_autoregressive(m, p, {.max_new_tokens = 9}, nullptr, first);
     }},
};

class EverySampler : public testing::TestWithParam<SamplerCase> {};

TEST_P(EverySampler, GivesTheSameBitsForAnyBatchThreadCountAndRun) {
  const Loaded two(GetParam().model, 2), one(GetParam().model, 1);
  const std::vector<Generation> batch = GetParam().run(two.model, kPrompts, 0);
  ASSERT_EQ(batch.size(), kPrompts.size());
  const std::vector<Generation> again = GetParam().run(two.model, kPrompts, 0);
  const std::vector<Generation> single_thread = GetParam().run(one.model, kPrompts, 0);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    EXPECT_TRUE(same(batch[i], again[i]));
    EXPECT_TRUE(same(batch[i], single_thread[i]));
    EXPECT_TRUE(same(batch[i], GetParam().run(two.model, {&kPrompts[i], 1}, static_cast<Index>(i))[0])) << i;
  }
}

TEST_P(EverySampler, CommitsEveryPositionOnceAndKeepsThePrompt) {
  const Loaded loaded(GetParam().model);
  const std::vector<Generation> made = GetParam().run(loaded.model, kPrompts, 0);
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_TRUE(std::equal(kPrompts[i].begin(), kPrompts[i].end(), made[i].tokens.begin()));
    for (const Index step : made[i].commit_step) {
      EXPECT_GE(step, 0);
      EXPECT_LT(step, made[i].steps);
    }
    if (loaded.model.config().mask_id) {
      EXPECT_EQ(std::ranges::count(made[i].generated(), *loaded.model.config().mask_id), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EverySampler, testing::ValuesIn(kSamplers),
                         [](const auto& instance) { return instance.param.name; });

// Notes which rows a pass reads and what each step committed.
struct Notes : GenerationObserver {
  std::vector<std::vector<Index>> read, committed;
  Tap* before_pass(std::span<const Pass> passes) override {
    read.emplace_back(passes[0].read_positions.begin(), passes[0].read_positions.end());
    return nullptr;
  }
  void after_step(Index, const Generation& g) override { committed.push_back(g.just_committed); }
};

TEST(Llada, FillsBlocksInOrderByQuota) {
  const Loaded loaded("llada");
  Notes notes;
  const auto made = generate_llada(loaded.model, {{kPrompts[0]}},
                                   {.gen_length = 10, .steps = 6, .block_length = 5}, &notes);
  // 5 masks in 3 steps: 2, 2, 1.
  const std::size_t quotas[] = {2, 2, 1, 2, 2, 1};
  ASSERT_EQ(notes.committed.size(), 6u);
  for (std::size_t s = 0; s < 6; ++s) {
    EXPECT_EQ(notes.committed[s].size(), quotas[s]);
    for (const Index p : notes.committed[s]) EXPECT_EQ((p - 3) / 5, s < 3 ? 0 : 1);
  }
  EXPECT_EQ(notes.read[0], (std::vector<Index>{3, 4, 5, 6, 7}));
  EXPECT_EQ(notes.read[1].size(), 3u);
}

TEST(Llada, ThresholdCommitsTheSureAndAlwaysOne) {
  const Loaded loaded("llada");
  Notes notes;
  const auto sure = generate_llada(loaded.model, {{kPrompts[0]}},
                                   {.gen_length = 8, .block_length = 8, .threshold = 1.0}, &notes);
  EXPECT_EQ(sure[0].steps, 8);  // nothing is that sure: one a step
  const auto all =
      generate_llada(loaded.model, {{kPrompts[0]}}, {.gen_length = 8, .block_length = 8, .threshold = 1e-9});
  EXPECT_EQ(all[0].steps, 1);
}

TEST(Llada, LogitsEosInfNeverProposesEos) {
  const Loaded loaded("llada");
  const std::vector<std::vector<TokenId>> prompt = {{5, 6, 7}};
  const auto hidden = generate_llada(loaded.model, prompt,
                                     {.gen_length = 16,
                                      .steps = 16,
                                      .block_length = 16,
                                      .temperature = 3,
                                      .logits_eos_inf = true,
                                      .seed = 1});
  EXPECT_EQ(std::ranges::count(hidden[0].generated(), 1), 0);
}

TEST(Dream, ReadsTheRowBefore) {
  const Loaded loaded("dream");
  Notes notes;
  generate_dream(loaded.model, {{kPrompts[0]}},
                 {.gen_length = 4, .steps = 4, .alg = DreamAlgorithm::kEntropy}, &notes);
  EXPECT_EQ(notes.read[0], (std::vector<Index>{2, 3, 4, 5}));
  EXPECT_TRUE(notes.committed[0].empty());  // steps = length: the first step's quota rounds down to 0
}

TEST(Autoregressive, StopsAtAStopIdAndKeepsIt) {
  const Loaded loaded("llama-gqa");
  const auto free = generate_autoregressive(loaded.model, {{kPrompts[0]}}, {.max_new_tokens = 8});
  const TokenId third = free[0].generated()[2];
  const auto stopped =
      generate_autoregressive(loaded.model, {{kPrompts[0]}}, {.max_new_tokens = 8, .stop_ids = {third}});
  const auto first = std::ranges::find(free[0].generated(), third) - free[0].generated().begin();
  EXPECT_EQ(std::ssize(stopped[0].generated()), first + 1);
  EXPECT_EQ(stopped[0].generated().back(), third);
}

TEST(Options, ThatDoNotFitAreUsageErrors) {
  EXPECT_THROW(check_options(LladaOptions{.gen_length = 16, .block_length = 5}), UsageError);
  EXPECT_THROW(check_options(LladaOptions{.gen_length = 16, .steps = 3, .block_length = 8}), UsageError);
  EXPECT_THROW(check_options(LladaOptions{.gen_length = 0}), UsageError);
  EXPECT_THROW(check_options(LladaOptions{.threshold = 1.5}), UsageError);
  EXPECT_THROW(check_options(LladaOptions{.temperature = -1}), UsageError);
  EXPECT_THROW(check_options(DreamOptions{.steps = 0}), UsageError);
  EXPECT_THROW(check_options(DreamOptions{.eps = 1}), UsageError);
  EXPECT_THROW(check_options(DreamOptions{.sampling = {.top_p = 0}}), UsageError);
  EXPECT_THROW(check_options(AutoregressiveOptions{.sampling = {.top_k = -1}}), UsageError);
  EXPECT_THROW(check_options(AutoregressiveOptions{.max_new_tokens = 0}), UsageError);
  const Loaded loaded("llama-gqa");
  EXPECT_THROW(generate_autoregressive(loaded.model, {{kPrompts[0]}}, {.max_new_tokens = 600}), Error);
  EXPECT_THROW(generate_autoregressive(loaded.model, std::vector<std::vector<TokenId>>{{}}, {}), Error);
}

TEST(Sampling, FiltersKeepWhatTheyShould) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  const auto kept = [&](const SamplingOptions& o) {
    Index count = 0;
    for (const double p : filtered_probabilities(logits, o)) count += p > 0;
    return count;
  };
  EXPECT_EQ(kept({.temperature = 1}), 4);
  EXPECT_EQ(kept({.temperature = 1, .top_p = 0.49}), 1);
  EXPECT_EQ(kept({.temperature = 1, .top_p = 0.6}), 2);
  EXPECT_EQ(kept({.temperature = 1, .top_p = 0.9}), 3);
  EXPECT_EQ(kept({.temperature = 1, .top_k = 3}), 3);
  const std::vector<double> p = filtered_probabilities(logits, {.temperature = 1, .top_k = 2});
  EXPECT_NEAR(p[0], 0.625, 1e-6);
  EXPECT_NEAR(p[1], 0.375, 1e-6);
}

TEST(Sampling, DrawsFollowTheProbabilities) {
  const std::vector<double> p = {0.2, 0.0, 0.5, 0.3};
  std::vector<Index> counts(4, 0);
  for (std::uint32_t i = 0; i < 20000; ++i) {
    ++counts[static_cast<std::size_t>(choose_token(p, {.temperature = 1}, uniform({.sample = i}, 0)))];
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(static_cast<double>(counts[i]) / 20000, p[i], 0.015);
  EXPECT_EQ(choose_token(p, {.temperature = 0}, 0.99), 2);
}

TEST(Sampling, GumbelNoiseSamplesTheSoftmaxAtTemperatureOne) {
  const std::vector<float> logits = {std::log(0.2f), std::log(0.5f), std::log(0.3f)};
  std::vector<Index> counts(3, 0);
  for (std::uint32_t i = 0; i < 20000; ++i)
    ++counts[static_cast<std::size_t>(gumbel_argmax(logits, 1, {.sample = i}))];
  EXPECT_NEAR(static_cast<double>(counts[0]) / 20000, 0.2, 0.015);
  EXPECT_NEAR(static_cast<double>(counts[1]) / 20000, 0.5, 0.015);
}

TEST(MostConfident, BreaksTiesByPosition) {
  const std::vector<Proposal> picked =
      most_confident({{4, 0, 0.5}, {5, 0, 0.9}, {6, 0, 0.5}, {7, 0, 0.5}}, 2);
  EXPECT_EQ(picked[0].position, 5);
  EXPECT_EQ(picked[1].position, 4);
}

// Weights that are finite and still make a layer overflow.
TEST(FiniteLogits, WhatOverflowsIsNamedWithItsLayer) {
  for (const char* name : {"llada", "qwen2-tied"}) {
    const ModelConfig config = read_model_config(kGoldens / name);
    const Checkpoint checkpoint = Checkpoint::open(kGoldens / name);
    const std::vector<float> huge(static_cast<std::size_t>(config.E), 3e38f);
    const std::string spoilt = layer_tensor_name(config.family->weights.mlp_norm, 1);
    const auto find = [&](std::string_view tensor) {
      return tensor == spoilt ? TensorView{DType::kF32, {config.E}, std::as_bytes(std::span(huge))}
                              : *checkpoint.find(tensor);
    };
    const auto backend = make_cpu_backend({.threads = 2});
    const Transformer model(config, find, *backend);
    try {
      generate(model, std::vector<std::vector<TokenId>>{{5, 6, 7}}, {.gen_length = 2});
      ADD_FAILURE() << name << " generated something";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("the logits are not finite, from layer 1 on"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace buoy
