// The samplers of block families: on logits that are written down, and on the goldens with and without a
// cache.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/decode/golden_name.h"
#include "buoy/decode/quota.h"
#include "buoy/decode/sampler.h"
#include "buoy/model/test_support.h"
#include "buoy/model/transformer.h"

namespace buoy {
namespace {

constexpr Index kTokens = 8;
constexpr TokenId kText = 1, kStop = 2, kMask = 7;
const std::vector<TokenId> kTwo = {4, 5};

struct Belief {
  TokenId token = kText;
  double probability = 0.5;
};

std::vector<float> row_of(const Belief& belief) {
  const double rest = (1 - belief.probability) / static_cast<double>(kTokens - 1);
  std::vector<float> row(static_cast<std::size_t>(kTokens), static_cast<float>(std::log(rest)));
  row[static_cast<std::size_t>(belief.token)] = static_cast<float>(std::log(belief.probability));
  return row;
}

// A model whose rows, counted from the sequence's first, believe this; rows behind the list are sure of
// kText.
ScriptedModel believing(std::string_view model_type, std::vector<Belief> beliefs) {
  ScriptedModel model(model_type, kTokens);
  model.logits = [beliefs = std::move(beliefs)](const ForwardSequence& s, Index row) {
    const auto at = static_cast<std::size_t>(row + (s.cache != nullptr ? s.cache->length : 0));
    return row_of(at < beliefs.size() ? beliefs[at] : Belief{kText, 0.6});
  };
  return model;
}

using Steps = std::vector<Index>;
using Ids = std::vector<TokenId>;

TEST(Quota, OfA2dRoundsHalfToEvenWhereLladaGivesMoreFirst) {
  EXPECT_EQ(scheduled_quotas(8, 3), (std::vector<Index>{3, 2, 3}));
  std::vector<Index> even;
  for (Index i = 0; i < 3; ++i) even.push_back(even_quota(8, 3, i));
  EXPECT_EQ(even, (std::vector<Index>{3, 3, 2}));
  EXPECT_EQ(scheduled_quotas(9, 2), (std::vector<Index>{4, 5}));  // of 4.5
  EXPECT_EQ(scheduled_quotas(7, 2), (std::vector<Index>{4, 3}));  // of 3.5
  EXPECT_EQ(scheduled_quotas(1, 5), (std::vector<Index>{1}));     // steps of nothing are left out
}

TEST(Quota, OfA2dAddsUpToTheMasks) {
  for (Index M = 0; M < 40; ++M) {
    for (Index S = 1; S < 40; ++S) {
      const std::vector<Index> quotas = scheduled_quotas(M, S);
      EXPECT_EQ(std::accumulate(quotas.begin(), quotas.end(), Index{0}), M) << M << " in " << S;
      EXPECT_LE(std::ssize(quotas), S);
      EXPECT_EQ(std::ranges::count(quotas, 0), 0);
    }
  }
}

TEST(BlockScripted, AQuotaTakesTheSurestOfTheBlockAndOnlyThose) {
  // The prompt ends inside the first block; whole blocks are filled.
  const ScriptedModel model =
      believing("sdar", {{}, {}, {kText, 0.3}, {kText, 0.9}, {kText, 0.5}, {kText, 0.8}});
  const BlockOptions options{.gen_length = 4, .block_length = 4, .block_steps = 4};
  const Generation made = generate_blocks(model, {{kTwo}}, options)[0];
  EXPECT_EQ(made.commit_step,
            (Steps{1, 0, 5, 2, 3, 4}));  // positions 2 and 3, then 4 to 7: 0.5, 0.8, 0.6, 0.6
  EXPECT_EQ(made.tokens.size(), 8u);
  EXPECT_EQ(made.mask, Mask::blocks(4));
}

TEST(BlockScripted, AThresholdFillsAllAboveItWhereTheyAreAtLeastTheQuota) {
  const std::vector<Belief> beliefs = {{},           {},           {},           {},
                                       {kText, 0.5}, {kText, 0.8}, {kText, 0.7}, {kText, 0.3}};
  const auto steps = [&](BlockPick pick, double threshold, Index block_steps) {
    const BlockOptions options{
        .gen_length = 4, .block_length = 4, .block_steps = block_steps, .pick = pick, .threshold = threshold};
    return generate_blocks(believing("sdar", beliefs), {{Ids{4, 5, 6, 4}}}, options)[0].commit_step;
  };
  EXPECT_EQ(steps(BlockPick::kAboveOrQuota, 0.6, 4), (Steps{1, 0, 0, 2}));
  EXPECT_EQ(steps(BlockPick::kAboveOrQuota, 0.9, 4), (Steps{2, 0, 1, 3}));
  EXPECT_EQ(steps(BlockPick::kAboveOrQuota, 0.75, 2), (Steps{1, 0, 0, 1}));    // the quota is more
  EXPECT_EQ(steps(BlockPick::kBestAndReaching, 0.6, 1), (Steps{1, 0, 0, 2}));  // as many passes as it needs
  EXPECT_EQ(steps(BlockPick::kLeftmost, 1, 4), (Steps{0, 1, 2, 3}));
}

TEST(BlockScripted, TheFirstTokenOfAChainedBlockComesFromTheRowBeforeIt) {
  // Row p − 1 decides p. The prompt is one whole block: its last row writes position 4, and it is looked at.
  const ScriptedModel model =
      believing("Fast_dLLM_Qwen", {{}, {}, {}, {3, 0.9}, {4, 0.6}, {5, 0.9}, {6, 0.7}, {3, 0.8}});
  const BlockOptions options{
      .gen_length = 4, .block_length = 4, .pick = BlockPick::kBestAndAbove, .extent = BlockExtent::kChained};
  const Generation made = generate_blocks(model, {{Ids{4, 5, 6, 4}}}, options)[0];
  EXPECT_EQ(made.tokens, (Ids{4, 5, 6, 4, 3, 4, 5, 6, 3}));
  EXPECT_EQ(made.commit_step, (Steps{0, 3, 1, 2, 4}));
}

TEST(BlockScripted, ABlockEndsThoughTheModelProposesMasks) {
  const std::vector<Belief> masks(20, Belief{kMask, 0.9});
  const BlockOptions chained{
      .gen_length = 4, .block_length = 4, .pick = BlockPick::kBestAndAbove, .extent = BlockExtent::kChained};
  const Generation fast = generate_blocks(believing("Fast_dLLM_Qwen", masks), {{kTwo}}, chained)[0];
  EXPECT_EQ(std::ranges::count(fast.tokens, kMask), 0);
  // A quota bounds the passes; what stays a mask stays one, as in the public code.
  const BlockOptions quota{.gen_length = 4, .block_length = 4, .block_steps = 2};
  const Generation sdar = generate_blocks(believing("sdar", masks), {{kTwo}}, quota)[0];
  EXPECT_EQ(sdar.steps, 4);
}

TEST(BlockScripted, SubBlocksAreFilledFromLeftToRight) {
  // Of positions 5 to 7 the first is the least sure: row 4 writes it.
  const ScriptedModel model =
      believing("Fast_dLLM_Qwen", {{}, {}, {}, {}, {kText, 0.3}, {kText, 0.9}, {kText, 0.9}});
  BlockOptions options{.gen_length = 8,
                       .block_length = 8,
                       .sub_block_length = 2,
                       .pick = BlockPick::kBestAndAbove,
                       .threshold = 0.8,
                       .extent = BlockExtent::kChained};
  const std::vector<TokenId> prompt = {4, 5, 6, 4, 5};
  EXPECT_EQ(generate_blocks(model, {{prompt}}, options)[0].commit_step, (Steps{0, 1, 1, 2}));
  options.sub_block_length = 0;
  EXPECT_EQ(generate_blocks(model, {{prompt}}, options)[0].commit_step, (Steps{1, 0, 0, 2}));
}

TEST(BlockScripted, ABlockWithAStopIsTheLastThatIsFilled) {
  const auto filled = [](std::vector<Belief> beliefs, const Ids& prompt, bool repeat) {
    const BlockOptions options{
        .gen_length = 10, .block_length = 4, .block_steps = 4, .stop_ids = {kStop}, .repeat_stop = repeat};
    Ids tokens = generate_blocks(believing("sdar", std::move(beliefs)), {{prompt}}, options)[0].tokens;
    EXPECT_EQ(tokens.size(), 12u);
    while (tokens.back() == kMask) tokens.pop_back();
    return tokens;
  };
  EXPECT_EQ(filled({{}, {}, {kText, 0.9}, {kStop, 0.9}}, kTwo, false), (Ids{4, 5, kText, kStop}));
  EXPECT_EQ(filled({{}, {}, {kStop, 0.9}, {kText, 0.9}}, kTwo, false), (Ids{4, 5, kStop, kText}));
  EXPECT_EQ(filled({{}, {}, {kStop, 0.9}, {kText, 0.9}}, kTwo, true), (Ids{4, 5, kStop, kStop}));
  EXPECT_EQ(filled({}, {kStop, 5}, false).size(), 12u);  // a stop id of the prompt is none
}

// Watches every pass. Who may change something is shown all rows.
struct Watching : GenerationObserver {
  explicit Watching(bool only) : only_(only) {}
  bool only_watches() const override { return only_; }
  Tap* before_pass(std::span<const Pass> passes) override {
    for (const Pass& pass : passes) EXPECT_TRUE(only_ || pass.first_row == 0);
    return &tap_;
  }
  Tap* before_standing(std::span<const Pass> passes) override {
    for (const Pass& pass : passes) standing += std::ssize(pass.tokens) - pass.first_row;
    return &tap_;
  }
  Index standing = 0;  // rows

 private:
  bool only_;
  Tap tap_;
};

TEST(BlockScripted, AStepCostsAboutItsBlockWatchedOrNot) {
  const BlockOptions options{.gen_length = 512, .block_length = 32, .block_steps = 4};
  const std::vector<TokenId> prompt(100, 4);
  Watching watching(true);
  for (GenerationObserver* observer :
       {static_cast<GenerationObserver*>(nullptr), static_cast<GenerationObserver*>(&watching)}) {
    const ScriptedModel model = believing("sdar", {});
    const Generation made = generate_blocks(model, {{prompt}}, options, observer)[0];
    std::size_t rows = 0;
    for (const auto& pass : model.passes()) rows += pass[0].size();
    rows -= 128;  // the prompt and the rest of its block, once
    EXPECT_LE(static_cast<double>(rows), 1.3 * 32 * static_cast<double>(made.steps));
    EXPECT_GE(rows, 32u * static_cast<std::size_t>(made.steps - 4));
  }
  EXPECT_EQ(watching.standing, 608);  // every row before the last block stands, and is seen once
}

TEST(BlockOptionsCheck, NameWhatDoesNotFit) {
  EXPECT_THROW(check_options(BlockOptions{.block_length = 0}), UsageError);
  EXPECT_THROW(check_options(BlockOptions{.gen_length = 0}), UsageError);
  EXPECT_THROW(check_options(BlockOptions{.block_length = 8, .sub_block_length = 9}), UsageError);
  EXPECT_THROW(check_options(BlockOptions{.threshold = 0}), UsageError);
  const ScriptedModel model = believing("sdar", {});
  EXPECT_THROW(generate_blocks(model, {{kTwo}}, {.block_length = 5000}), UsageError);
  EXPECT_THROW(generate_blocks(model, {{kTwo}}, {.gen_length = 4096, .block_length = 32}), Error);
}

TEST(GoldenNames, AreWordsAndNumbers) {
  const auto dynamic = parse_golden_name("gen_dynamic_s8_g20_b8_t0.6_stop167");
  ASSERT_TRUE(dynamic);
  EXPECT_EQ(dynamic->head, "gen");
  EXPECT_EQ(dynamic->words, "dynamic");
  EXPECT_EQ(dynamic->numbers,
            (std::map<std::string, double>{{"s", 8}, {"g", 20}, {"b", 8}, {"t", 0.6}, {"stop", 167}}));
  EXPECT_TRUE(dynamic->is_made_of("s g b", "t stop"));
  EXPECT_FALSE(dynamic->is_made_of("s g b", "t"));
  EXPECT_FALSE(dynamic->is_made_of("s g b cfg", "t stop"));
  EXPECT_EQ(parse_golden_name("gen_maskgit_plus_s16_g16")->words, "maskgit_plus");
  EXPECT_EQ(parse_golden_name("gen_p2_s8_g16")->words, "p2");
  EXPECT_FALSE(parse_golden_name("gen_s8_twice_g4"));
  EXPECT_FALSE(parse_golden_name("gen_s8_s9"));
}

// The families with blocks, as goldens and as settings.
struct BlockCase {
  const char *model, *family;
  SamplerSettings settings;
};

std::vector<BlockCase> block_cases() {
  const auto settings = [](Index block, std::optional<double> threshold) {
    SamplerSettings s{.gen_length = 24};
    s.block_length = block;
    s.threshold = threshold;
    s.ignore_eos = true;
    return s;
  };
  return {{"sdar", "", settings(4, 0.6)},
          {"sdar", "", settings(8, std::nullopt)},
          {"llada2-moe", "", settings(8, 0.6)},
          {"stable-diffcoder", "", settings(4, 0.5)},
          {"fast-dllm-v2", "", settings(8, 0.5)},
          {"a2d-qwen3", "a2d-qwen3-bd3lm", settings(8, std::nullopt)},
          {"sdar-moe", "", settings(4, 0.6)},
          {"a2d-llama", "a2d-llama-bd3lm", settings(8, std::nullopt)},
          {"a2d-qwen2", "a2d-qwen2-bd3lm", settings(4, std::nullopt)}};
}

// Every backend that this machine can run.
std::vector<std::unique_ptr<Backend>> backends_for_blocks() {
  std::vector<std::unique_ptr<Backend>> all;
  all.push_back(make_reference_backend());
  if (has_cpu_backend()) all.push_back(make_cpu_backend({.threads = 2}));
  if (cuda_problem()) return all;
  for (const DType dtype : {DType::kF32, DType::kBf16}) all.push_back(make_cuda_backend({.dtype = dtype}));
  return all;
}

TEST(BlockCache, ChangesNoBit) {
  for (const auto& backend : backends_for_blocks()) {
    for (const BlockCase& c : block_cases()) {
      const Transformer model(source_path("tests/goldens") / c.model, *backend, {}, c.family);
      const std::vector<std::vector<TokenId>> prompts = {{11, 12, 13, 14, 15},
                                                         {21, 22, 23, 24, 25, 26, 27, 28, 29}};
      BlockOptions options = block_options(c.settings, model.config());
      const auto kept = generate_blocks(model, prompts, options);
      Watching watching(true), changing(false);
      const auto watched = generate_blocks(model, prompts, options, &watching);
      const auto changed = generate_blocks(model, prompts, options, &changing);
      options.cache = BlockCache::kNone;
      const auto whole = generate_blocks(model, prompts, options);
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        const std::string what = std::string(c.model) + " on " + std::string(backend->name());
        EXPECT_EQ(kept[i].tokens, whole[i].tokens) << what;
        EXPECT_EQ(kept[i].commit_step, whole[i].commit_step) << what;
        EXPECT_EQ(kept[i].confidence, whole[i].confidence) << what;  // to the bit
        EXPECT_EQ(watched[i].confidence, whole[i].confidence) << what;
        EXPECT_EQ(changed[i].confidence, whole[i].confidence) << what;
        const auto alone = generate_blocks(model, {&prompts[i], 1}, options)[0];
        EXPECT_EQ(alone.confidence, kept[i].confidence) << what;
      }
    }
  }
}

// The logits themselves, of a block whose past is kept, against those of a whole pass.
TEST(BlockCache, GivesTheLogitsOfAWholePass) {
  const std::vector<std::unique_ptr<Backend>> backends = backends_for_blocks();
  const char* names[] = {"sdar", "llada2-moe", "stable-diffcoder", "fast-dllm-v2"};
  for (std::size_t i = 0; i < std::size(names) * backends.size(); ++i) {
    const char* name = names[i % std::size(names)];
    Backend* const backend = backends[i / std::size(names)].get();
    const Transformer model(source_path("tests/goldens") / name, *backend, {});
    std::vector<TokenId> ids(24);
    std::iota(ids.begin(), ids.end(), 20);
    std::vector<Index> last(8), own(8);
    std::iota(last.begin(), last.end(), 16);
    std::iota(own.begin(), own.end(), 0);
    const Mask mask = Mask::blocks(8);
    const ForwardSequence whole{.ids = ids, .read_rows = last, .mask = mask};
    std::vector<float> want(static_cast<std::size_t>(8 * model.config().V)), got(want.size());
    backend->download(model.forward({&whole, 1}), want);
    KvCache cache = model.make_cache(24);
    const ForwardSequence before{
        .ids = std::span(ids).first(16), .read_rows = own, .cache = &cache, .mask = mask};
    model.forward({&before, 1});
    const ForwardSequence block{
        .ids = std::span(ids).subspan(16), .read_rows = own, .cache = &cache, .mask = mask};
    backend->download(model.forward({&block, 1}), got);
    EXPECT_EQ(got, want) << name << " on " << backend->name();
  }
}

}  // namespace
}  // namespace buoy
