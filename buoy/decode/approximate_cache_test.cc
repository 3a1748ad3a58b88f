// Approximate caches: which rows a pass computes, against lists written out by hand, and where they are
// exact.
#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/decode/sampler.h"
#include "buoy/io/json.h"
#include "buoy/model/test_support.h"
#include "buoy/model/transformer.h"

namespace buoy {
namespace {

using Rows = std::vector<Index>;
constexpr TokenId kHole = 7;  // the scripted model's mask

// The rows of passes over a sequence of 8 with a prompt of 2, where step s writes position order[s].
std::vector<Rows> planned(const char* family, CacheOptions options, const Rows& order, Index block) {
  const ScriptedModel model(family, 8);
  const Index shift = model.config().family->logit_shift;
  ApproximateCache cache(model, options, 8);
  std::vector<TokenId> tokens = {4, 5, kHole, kHole, kHole, kHole, kHole, kHole};
  std::vector<Rows> planned;
  Rows committed;
  for (std::size_t s = 0; s < order.size(); ++s) {
    const Index number = static_cast<Index>(s) / block, start = 2 + number * block;
    Rows read;
    for (Index p = start; p < start + block; ++p) {
      if (tokens[static_cast<std::size_t>(p)] == kHole) read.push_back(p - shift);
    }
    const auto rows =
        cache.plan(tokens, {.start = start, .end = start + block, .pass = static_cast<Index>(s) % block},
                   committed, read);
    planned.emplace_back(rows.begin(), rows.end());
    committed = {order[s]};
    tokens[static_cast<std::size_t>(order[s])] = 1;
  }
  return planned;
}

const Rows kAllRows = {0, 1, 2, 3, 4, 5, 6, 7};

TEST(CachePlan, OfAPrefixComputesFromTheBlockOn) {
  const auto rows = planned("llada", {.kind = CacheKind::kPrefix}, {2, 4, 3, 7, 6, 5}, 3);
  EXPECT_EQ(rows[0], kAllRows);
  EXPECT_EQ(rows[1], (Rows{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(rows[2], (Rows{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(rows[3], kAllRows) << "a block begins";
  EXPECT_EQ(rows[4], (Rows{5, 6, 7}));
}

TEST(CachePlan, OfADualCacheComputesTheBlockAlone) {
  const auto rows = planned("llada", {.kind = CacheKind::kDual}, {2, 4, 3, 7, 6, 5}, 3);
  EXPECT_EQ(rows[0], kAllRows);
  EXPECT_EQ(rows[1], (Rows{2, 3, 4}));
  EXPECT_EQ(rows[2], (Rows{2, 3, 4}));
  EXPECT_EQ(rows[3], kAllRows);
  EXPECT_EQ(rows[5], (Rows{5, 6, 7}));
}

TEST(CachePlan, OfADelayedCacheComputesMasksAndWhatTheStepBeforeWrote) {
  CacheOptions options{.kind = CacheKind::kDelayed, .refresh = 4, .whole_passes = 2};
  const auto rows = planned("llada", options, {3, 6, 2, 7, 4, 5}, 6);
  EXPECT_EQ(rows[0], kAllRows);
  EXPECT_EQ(rows[1], kAllRows) << "LLaDA's second pass is whole too";
  EXPECT_EQ(rows[2], (Rows{2, 4, 5, 6, 7})) << "3 was computed as a token by pass 1; 6 is new";
  EXPECT_EQ(rows[3], (Rows{2, 4, 5, 7}));
  EXPECT_EQ(rows[4], kAllRows) << "every fourth";
  EXPECT_EQ(rows[5], (Rows{4, 5}));
}

// Row p − 1 writes p: it is computed until one pass after p is there.
TEST(CachePlan, OfADelayedCacheKeepsTheRowsThatWrite) {
  const auto rows = planned("Dream", {.kind = CacheKind::kDelayed, .refresh = 0}, {3, 6, 2, 7, 4, 5}, 6);
  EXPECT_EQ(rows[0], kAllRows);
  EXPECT_EQ(rows[1], (Rows{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(rows[2], (Rows{1, 2, 3, 4, 5, 6, 7})) << "3 writes 4";
  EXPECT_EQ(rows[3], (Rows{1, 2, 3, 4, 5, 6, 7})) << "2 is new: row 1 once more";
  EXPECT_EQ(rows[4], (Rows{3, 4, 5, 6, 7})) << "7 is new: row 6 once more";
}

// The last row writes nothing; dKV-Cache computes it as long as the one before it.
TEST(CachePlan, OfADelayedCacheComputesTheLastRowWithTheOneBeforeIt) {
  const auto rows = planned("Dream", {.kind = CacheKind::kDelayed, .refresh = 0}, {7, 2, 3, 6, 5, 4}, 6);
  EXPECT_EQ(rows[2], (Rows{1, 2, 3, 4, 5, 6, 7})) << "7 is there for a pass, 6 is a mask";
  EXPECT_EQ(rows[4], (Rows{3, 4, 5, 6, 7})) << "6 is new";
  EXPECT_EQ(rows[5], (Rows{3, 4, 5})) << "both are there for a pass";
}

TEST(CachePlan, SaysWhichPassComputedARowLast) {
  const ScriptedModel model("llada", 8);
  ApproximateCache cache(model, {.kind = CacheKind::kDual}, 6);
  const std::vector<TokenId> tokens = {4, 5, kHole, kHole, kHole, kHole};
  for (Index pass = 0; pass < 3; ++pass)
    cache.plan(tokens, {.start = 2, .end = 4, .pass = pass}, {}, Rows{2});
  EXPECT_EQ((Rows{cache.computed_by().begin(), cache.computed_by().end()}), (Rows{0, 0, 2, 2, 0, 0}));
}

// Every kind of cache over both samplers.
struct CacheCase {
  const char* model;
  SamplerSettings settings;
};

std::vector<CacheCase> cache_cases() {
  std::vector<CacheCase> cases;
  for (const CacheKind kind : {CacheKind::kPrefix, CacheKind::kDual, CacheKind::kDelayed}) {
    SamplerSettings s{.gen_length = 12};
    s.block_length = 6;
    s.cache = kind;
    cases.push_back({"llada", s});
    cases.push_back({"a2d-llama", s});
    s.alg = DreamAlgorithm::kEntropy;
    cases.push_back({"dream", s});
    s.block_length.reset();
    cases.push_back({"dream", s});
  }
  return cases;
}

const std::vector<std::vector<TokenId>> kTwoPrompts = {{11, 12, 13, 14, 15},
                                                       {21, 22, 23, 24, 25, 26, 27, 28, 29}};

TEST(ApproximateCaches, ChangeNoBitWhereEveryPassComputesEverything) {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(make_reference_backend());
  if (has_cpu_backend()) backends.push_back(make_cpu_backend({.threads = 2}));
  for (const auto& backend : backends) {
    for (CacheCase c : cache_cases()) {
      const Transformer model(source_path("tests/goldens") / c.model, *backend, {});
      c.settings.cache_refresh = 1;
      const auto kept = generate(model, kTwoPrompts, c.settings);
      c.settings.cache = CacheKind::kNone;
      const auto exact = generate(model, kTwoPrompts, c.settings);
      for (std::size_t i = 0; i < exact.size(); ++i) {
        EXPECT_EQ(kept[i].tokens, exact[i].tokens) << c.model;
        EXPECT_EQ(kept[i].confidence, exact[i].confidence) << c.model;
      }
    }
  }
}

TEST(ApproximateCaches, AreExactInTheFirstPassAndNotForEver) {
  const auto backend = make_reference_backend();
  for (const CacheCase& c : cache_cases()) {
    const Transformer model(source_path("tests/goldens") / c.model, *backend, {});
    SamplerSettings plain = c.settings;
    plain.cache = CacheKind::kNone;
    const auto kept = generate(model, kTwoPrompts, c.settings), exact = generate(model, kTwoPrompts, plain);
    bool differs = false;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      for (std::size_t p = 0; p < exact[i].confidence.size(); ++p) {
        if (exact[i].commit_step[p] == 0) {
          EXPECT_EQ(kept[i].confidence[p], exact[i].confidence[p]) << c.model;
        }
        differs = differs || kept[i].confidence[p] != exact[i].confidence[p];
      }
    }
    EXPECT_TRUE(differs) << c.model << ' ' << name_of(c.settings.cache) << ": nothing was kept";
  }
}

TEST(ApproximateCaches, GiveASampleTheSameInAnyBatch) {
  const auto backend = make_reference_backend();
  for (const CacheCase& c : cache_cases()) {
    const Transformer model(source_path("tests/goldens") / c.model, *backend, {});
    const auto both = generate(model, kTwoPrompts, c.settings);
    const auto alone = generate(model, {&kTwoPrompts[1], 1}, c.settings, nullptr, 1);
    EXPECT_EQ(both[1].confidence, alone[0].confidence) << c.model;
  }
}

TEST(ApproximateCaches, CannotBeWatched) {
  struct Watcher : GenerationObserver {
    Tap tap;
    Tap* before_pass(std::span<const Pass>) override { return &tap; }
  } watcher;
  const ScriptedModel model("llada", 8);
  SamplerSettings settings{.gen_length = 4};
  settings.cache = CacheKind::kDual;
  EXPECT_THROW(generate(model, {{{4, 5}}}, settings, &watcher), UsageError);
}

TEST(ApproximateCaches, AreNamedInWhatARunRemembers) {
  ModelConfig masked, causal;
  masked.family = find_family("llada");
  causal.family = find_family("llama");
  masked.V = causal.V = 10;
  SamplerSettings settings{.gen_length = 8};
  EXPECT_FALSE(to_json(settings, masked).contains("cache"));
  settings.cache = CacheKind::kDelayed;
  EXPECT_EQ(to_json(settings, masked)["cache"], "delayed");
  EXPECT_EQ(to_json(settings, masked)["cache_refresh"], 8);
  EXPECT_EQ(to_json(settings, masked)["approximate"], true);
  EXPECT_FALSE(to_json(settings, causal).contains("cache")) << "it has no use for one";
  EXPECT_EQ(describe_cache(settings, masked), "delayed, approximate, refreshed every 8 passes");
  EXPECT_EQ(describe_cache(settings, causal), "");
}

TEST(ApproximateCaches, AreRefusedBesideWhatTheyCannotDo) {
  ModelConfig llada, dream;
  llada.family = find_family("llada");
  dream.family = find_family("Dream");
  llada.context = dream.context = 64;
  SamplerSettings settings{.gen_length = 8};
  settings.cache = CacheKind::kDual;
  EXPECT_NO_THROW(check_settings(settings, llada));
  EXPECT_NO_THROW(check_settings(settings, dream));
  settings.cfg_scale = 1;
  EXPECT_THROW(check_settings(settings, llada), UsageError);
  settings.alg = DreamAlgorithm::kP2;
  EXPECT_THROW(check_settings(settings, dream), UsageError);
  settings = {.gen_length = 8};
  settings.cache_refresh = -1;
  EXPECT_THROW(check_settings(settings, llada), UsageError);
}

TEST(DreamBlocks, AreFilledFromLeftToRight) {
  const auto backend = make_reference_backend();
  const Transformer model(source_path("tests/goldens/dream"), *backend, {});
  SamplerSettings settings{.gen_length = 12};
  settings.alg = DreamAlgorithm::kEntropy;
  settings.block_length = 4;
  const Generation made = generate(model, {&kTwoPrompts[0], 1}, settings)[0];
  for (std::size_t p = 0; p < made.commit_step.size(); ++p) {
    EXPECT_EQ(made.commit_step[p] / 4, static_cast<Index>(p) / 4) << p;
  }
  settings.block_length = 12;
  const Generation one = generate(model, {&kTwoPrompts[0], 1}, settings)[0];
  settings.block_length.reset();
  EXPECT_EQ(one.confidence, generate(model, {&kTwoPrompts[0], 1}, settings)[0].confidence);
  settings.block_length = 5;
  EXPECT_THROW(generate(model, {&kTwoPrompts[0], 1}, settings), UsageError);
}

}  // namespace
}  // namespace buoy
