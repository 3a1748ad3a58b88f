// Claims beside several nulls, on hand-made tables: the strictest decides, and none helps.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/claims/claims.h"

namespace buoy {
namespace {

constexpr Index kSamples = 24;
constexpr std::array kBoth = {NullKind::kRecency, NullKind::kShuffled};
constexpr std::array kFrozenAlone = {NullKind::kFrozen};
const EvidenceModel kMasked{"mdm", Writing::kFillsMasks}, kCausal{"arm", Writing::kAppends};

// About `level`, with a little spread that differs from table to table.
using Level = std::function<double(Index)>;
Level about(double level, double phase = 0) {
  return [=](Index i) { return level + 0.1 * std::sin(static_cast<double>(i) * 1.7 + phase); };
}

void fill(SampleTable& table, const char* model, const Level& level, Index samples = kSamples) {
  for (Index i = 0; i < samples; ++i) {
    table.add({.model = model, .data = "d", .task = "t", .sample = fmt::to_string(i)},
              Measurements{{.quantity = "x", .value = level(i)}});
  }
}

SampleTable masked_table(const Level& level, Index samples = kSamples) {
  SampleTable table;
  fill(table, "mdm", level, samples);
  return table;
}

// x of the masked model exceeds 0, and both nulls, by more than 1.
Claim claim_with_nulls() {
  return {.id = "x", .side = {.quantity = "x"}, .delta = 1, .null = ClaimNull::kStated, .nulls = kBoth};
}

struct Levels {
  double value = 0, recency = 0, shuffled = 0;
};

ClaimResult judged(const Levels& levels, ClaimDirection direction = ClaimDirection::kAbove) {
  const SampleTable values = masked_table(about(levels.value)), near = masked_table(about(levels.recency, 1)),
                    noise = masked_table(about(levels.shuffled, 2));
  static Claim claim = claim_with_nulls();  // outlives the result
  claim.direction = direction;
  return judge({.models = {kMasked},
                .analyses = &values,
                .nulls = {{.kind = NullKind::kShuffled, .analyses = &noise},
                          {.kind = NullKind::kRecency, .analyses = &near}}},
               std::span(&claim, 1))
      .at(0);
}

TEST(Nulls, AllMustBeExceeded) {
  const ClaimResult r = judged({.value = 5, .recency = 3, .shuffled = 2});
  EXPECT_EQ(r.verdict, Verdict::kSupported);
  EXPECT_EQ(r.strictest, "recency");
  EXPECT_NEAR(r.excess, 2, 0.05);
  EXPECT_NEAR(r.null, 3, 0.05);
  ASSERT_EQ(r.nulls.size(), 3U);
  EXPECT_EQ(r.nulls[0].name, "stated");
  EXPECT_EQ(r.nulls[1].name, "recency");
  EXPECT_EQ(r.nulls[2].name, "shuffled");
  EXPECT_NEAR(r.nulls[0].excess, 5, 0.05);
  EXPECT_NEAR(r.nulls[2].excess, 3, 0.05);
  EXPECT_EQ(r.note, "");
}

TEST(Nulls, TheStrictestDecides) {
  const ClaimResult r = judged({.value = 5, .recency = 0, .shuffled = 4.5});
  EXPECT_EQ(r.strictest, "shuffled");
  EXPECT_EQ(r.verdict, Verdict::kNotSupported) << "noise does nearly as much";
  const ClaimResult below = judged({.value = -5, .recency = -4.5, .shuffled = 3}, ClaimDirection::kBelow);
  EXPECT_EQ(below.strictest, "recency");
  EXPECT_EQ(below.verdict, Verdict::kNotSupported);
  EXPECT_EQ(judged({.value = -5, .recency = -3, .shuffled = 3}, ClaimDirection::kBelow).verdict,
            Verdict::kSupported);
}

TEST(Nulls, OfSeveralTwinsTheStrictestCountsWhereverItStands) {
  const SampleTable values = masked_table(about(5)),
                    mild = masked_table([](Index i) { return 0.01 * static_cast<double>(i % 3); }),
                    strict = masked_table([](Index i) { return 4.5 + 0.01 * static_cast<double>(i % 3); });
  Claim claim = claim_with_nulls();
  claim.nulls = std::span(kBoth).last(1);
  const auto verdict_beside = [&](std::vector<const SampleTable*> twins) {
    Evidence evidence{.models = {kMasked}, .analyses = &values};
    for (const SampleTable* twin : twins)
      evidence.nulls.push_back({.kind = NullKind::kShuffled, .analyses = twin});
    return judge(evidence, std::span(&claim, 1)).at(0).verdict;
  };
  EXPECT_EQ(verdict_beside({&mild}), Verdict::kSupported);
  EXPECT_EQ(verdict_beside({&mild, &strict}), Verdict::kNotSupported);
  EXPECT_EQ(verdict_beside({&strict, &mild}), Verdict::kNotSupported);
  const SampleTable none;
  EXPECT_EQ(verdict_beside({&none, &strict}), Verdict::kNotSupported) << "a twin without numbers hides none";
  EXPECT_EQ(verdict_beside({&strict, &none}), Verdict::kNotSupported);
}

TEST(Nulls, OneThatLiesTheOtherWayDoesNotHelp) {
  const ClaimResult r = judged({.value = 0.5, .recency = -7, .shuffled = -3});
  EXPECT_EQ(r.strictest, "stated");
  EXPECT_EQ(r.verdict, Verdict::kNotSupported);
  EXPECT_NEAR(r.excess, 0.5, 0.05);
}

TEST(Nulls, AreTakenAwaySampleBySample) {
  const auto difficulty = [](Index i) { return static_cast<double>(i * i); };
  const SampleTable values = masked_table([&](Index i) { return difficulty(i) + about(3)(i); }),
                    noise = masked_table(difficulty);
  Claim claim = claim_with_nulls();
  claim.nulls = std::span(kBoth).last(1);
  const auto results = judge({.models = {kMasked},
                              .analyses = &values,
                              .nulls = {{.kind = NullKind::kShuffled, .analyses = &noise}}},
                             std::span(&claim, 1));
  const NullResult& beside = results.at(0).nulls.at(1);
  EXPECT_NEAR(beside.excess, 3, 0.05);
  EXPECT_LT(beside.hi - beside.lo, 0.2) << "what both have in common drops out";
}

TEST(Nulls, RatiosOfSumsAreTakenAwayAsSuch) {
  SampleTable values, noise;
  for (Index i = 0; i < kSamples; ++i) {
    const SampleKey key{.model = "mdm", .data = "d", .task = "t", .sample = fmt::to_string(i)};
    values.add(key, Measurements{{.quantity = "x", .value = 10 * about(3)(i), .weight = 10}});
    // One sample has next to no weight and says something wild; Σ value ÷ Σ weight hardly hears it.
    const double weight = i == 0 ? 1e-6 : 10;
    noise.add(key, Measurements{{.quantity = "x", .value = i == 0 ? 1 : weight, .weight = weight}});
  }
  Claim claim = claim_with_nulls();
  const auto results = judge({.models = {kMasked},
                              .analyses = &values,
                              .nulls = {{.kind = NullKind::kShuffled, .analyses = &noise}}},
                             std::span(&claim, 1));
  EXPECT_NEAR(results.at(0).nulls.at(2).null, 1 + 1.0 / 230, 1e-4);
  EXPECT_NEAR(results.at(0).nulls.at(2).excess, 2, 0.05);
}

TEST(Nulls, OneThatHasFewerThanHalfOfTheSamplesIsLeftOutAndSaidToBe) {
  const SampleTable values = masked_table(about(5));
  for (const Index covered : {Index{0}, kSamples / 2 - 1, kSamples / 2}) {
    const SampleTable noise = masked_table(about(4.9, 1), covered);
    Claim claim = claim_with_nulls();
    claim.nulls = std::span(kBoth).last(1);
    const auto results = judge({.models = {kMasked},
                                .analyses = &values,
                                .nulls = {{.kind = NullKind::kShuffled, .analyses = &noise}}},
                               std::span(&claim, 1));
    const ClaimResult& r = results.at(0);
    if (covered == kSamples / 2) {
      EXPECT_EQ(r.verdict, Verdict::kNotSupported);
      EXPECT_EQ(r.n, 12) << "of the samples that the verdict rests on";
      EXPECT_NEAR(r.value - r.null, r.excess, 1e-9);
      EXPECT_EQ(r.note, "");
      continue;
    }
    EXPECT_EQ(r.verdict, Verdict::kSupported);
    EXPECT_EQ(r.strictest, "stated");
    EXPECT_EQ(r.n, 24);
    EXPECT_EQ(r.note, covered == 0 ? "not beside shuffled, which has none of these numbers"
                                   : "not beside shuffled, which has 11 of 24 samples");
  }
}

TEST(Nulls, OneThatHasOnlyTheEasySamplesIsComparedWithThoseAlone) {
  const auto difficulty = [](Index i) { return static_cast<double>(i * i); };
  const SampleTable values = masked_table([&](Index i) { return difficulty(i) + about(3)(i); }),
                    noise = masked_table(difficulty, 16);
  Claim claim = claim_with_nulls();
  const auto results = judge({.models = {kMasked},
                              .analyses = &values,
                              .nulls = {{.kind = NullKind::kShuffled, .analyses = &noise}}},
                             std::span(&claim, 1));
  const NullResult& beside = results.at(0).nulls.at(2);
  EXPECT_EQ(beside.n, 16);
  EXPECT_NEAR(beside.excess, 3, 0.05) << "the mean of all values less that of easy nulls would be far more";
}

TEST(Nulls, OneThatWasNotRunIsSaidToBe) {
  const SampleTable values = masked_table(about(5));
  const Claim claim = claim_with_nulls();
  const auto results = judge({.models = {kMasked}, .analyses = &values}, std::span(&claim, 1));
  EXPECT_EQ(results.at(0).verdict, Verdict::kSupported);
  EXPECT_EQ(results.at(0).note,
            "not beside recency, which was not run; not beside shuffled, which was not run");
}

TEST(Nulls, OfAComparisonAreDifferencesToo) {
  SampleTable values, noise;
  fill(values, "mdm", about(5));
  fill(values, "arm", about(1, 1));
  fill(noise, "mdm", about(4, 2));
  fill(noise, "arm", about(0.2, 3));
  Claim claim = claim_with_nulls();
  claim.scope = ClaimScope::kAgainstCausal;
  const auto results = judge({.models = {kMasked, kCausal},
                              .analyses = &values,
                              .nulls = {{.kind = NullKind::kShuffled, .analyses = &noise}}},
                             std::span(&claim, 1));
  const ClaimResult& r = results.at(0);
  EXPECT_NEAR(r.nulls.at(0).excess, 4, 0.05);
  EXPECT_NEAR(r.nulls.at(2).null, 3.8, 0.05) << "of both twins";
  EXPECT_NEAR(r.nulls.at(2).excess, 0.2, 0.05);
  EXPECT_EQ(r.verdict, Verdict::kNotSupported);
}

TEST(Nulls, AnAutoregressiveModelIsItsOwnFrozenRun) {
  SampleTable values, frozen;
  fill(values, "mdm", about(5));
  fill(values, "arm", about(1, 1));
  fill(frozen, "mdm", about(4.5, 2));
  Claim claim = claim_with_nulls();
  claim.scope = ClaimScope::kAgainstCausal;
  claim.nulls = kFrozenAlone;
  const auto results = judge({.models = {kMasked, kCausal},
                              .analyses = &values,
                              .nulls = {{.kind = NullKind::kFrozen, .analyses = &frozen}}},
                             std::span(&claim, 1));
  const ClaimResult& r = results.at(0);
  EXPECT_EQ(r.strictest, "frozen");
  EXPECT_NEAR(r.null, 3.5, 0.05) << "4.5 less the other model's 1";
  EXPECT_NEAR(r.excess, 0.5, 0.05);
  EXPECT_EQ(r.verdict, Verdict::kNotSupported) << "the masked model does hardly more than its frozen self";
}

TEST(Nulls, AStatedNullIsNotThatOfUniformAttention) {
  SampleTable table;
  for (Index i = 0; i < kSamples; ++i) {
    table.add({.model = "mdm", .data = "d", .task = "t", .sample = fmt::to_string(i)},
              Measurements{{.quantity = "x", .value = about(5)(i), .null = 4.5}});
  }
  Claim claim = claim_with_nulls();
  claim.nulls = {};
  const auto excess = [&] {
    return judge({.models = {kMasked}, .analyses = &table}, std::span(&claim, 1)).at(0).excess;
  };
  EXPECT_NEAR(excess(), 5, 0.05);
  claim.null = ClaimNull::kUniform;
  EXPECT_NEAR(excess(), 0.5, 0.05);
}

TEST(Nulls, WhatStaysMustStayAndBeMoreThanNoise) {
  Claim claim = claim_with_nulls();
  claim.nulls = std::span(kBoth).last(1);
  claim.beyond = 0.2;
  const auto judge_at = [&](double value, double noise_level) {
    const SampleTable values = masked_table(about(value)), noise = masked_table(about(noise_level, 1));
    return judge({.models = {kMasked},
                  .analyses = &values,
                  .nulls = {{.kind = NullKind::kShuffled, .analyses = &noise}}},
                 std::span(&claim, 1))
        .at(0);
  };
  EXPECT_EQ(judge_at(2, 1.5).verdict, Verdict::kSupported) << "0.5 beyond noise, where 0.2 are asked";
  const ClaimResult stable_noise = judge_at(2, 1.95);
  EXPECT_EQ(stable_noise.verdict, Verdict::kNotSupported);
  EXPECT_EQ(stable_noise.delta, 0.2);
  const ClaimResult unstable = judge_at(0.8, 0);
  EXPECT_EQ(unstable.verdict, Verdict::kNotSupported) << "far beyond noise, yet little stays";
  EXPECT_EQ(unstable.strictest, "stated");
  EXPECT_EQ(unstable.delta, 1);
}

TEST(Nulls, ForAVerdictTheLargestPCountsAgainstOneThatOfTheStrictestTimesAll) {
  const ClaimResult supported = judged({.value = 5, .recency = 3.98, .shuffled = 0});
  EXPECT_EQ(supported.strictest, "recency");
  EXPECT_DOUBLE_EQ(*supported.p,
                   std::max({supported.nulls[0].p, supported.nulls[1].p, supported.nulls[2].p}));
  EXPECT_GT(*supported.p, supported.nulls[0].p) << "δ beyond recency is a near thing";
  const ClaimResult against = judged({.value = 1, .recency = -3, .shuffled = 0.5});
  EXPECT_EQ(against.verdict, Verdict::kNotSupported);
  EXPECT_GT(against.nulls[0].p, 0.05) << "beside the stated null it is open";
  EXPECT_DOUBLE_EQ(*against.p, 3 * against.nulls[2].p);
  EXPECT_TRUE(against.survives);
}

TEST(Nulls, StandInTheCsv) {
  const ClaimResult r = judged({.value = 5, .recency = 3, .shuffled = 2});
  const std::string csv = claims_csv(std::span(&r, 1));
  const std::string nulls =
      fmt::format("stated=0;recency={:.9g};shuffled={:.9g}", r.nulls[1].null, r.nulls[2].null);
  EXPECT_NE(csv.find(fmt::format(",recency,{},", nulls)), std::string::npos) << csv;
}

bool compares_attention(const Claim& claim) {
  return claim.scope == ClaimScope::kAgainstCausal && claim.source == ClaimSource::kAnalyses;
}

// What every comparison of attention asks for, of two models that differ by `noise` at most.
SampleTable two_alike(double noise) {
  SampleTable table;
  for (Index i = 0; i < 40; ++i) {
    const double at = static_cast<double>(i);
    for (const auto& [model, phase] : {std::pair{"mdm", 0.3}, std::pair{"arm", 2.1}}) {
      Measurements rows;
      for (const Claim& claim : claims()) {
        if (!compares_attention(claim)) continue;
        rows.push_back({.quantity = std::string(claim.side.quantity),
                        .layer = 0,
                        .part = std::string(claim.side.part),
                        .value = 3 * std::sin(at) + noise * std::sin(at * at + phase),
                        .null = 0.0});
      }
      table.add({.model = model, .data = "d", .task = "t", .sample = fmt::to_string(i)}, rows);
    }
  }
  return table;
}

TEST(Judge, AModelAgainstItselfSupportsNoContrast) {
  for (const double noise : {0.0, 1e-4}) {
    const SampleTable table = two_alike(noise), twin = two_alike(noise / 2);
    Evidence evidence{.models = {kMasked, kCausal}, .analyses = &table};
    for (const NullKind kind : {NullKind::kFrozen, NullKind::kRecency, NullKind::kShuffled})
      evidence.nulls.push_back({.kind = kind, .analyses = &twin});
    Index judged_ones = 0;
    for (const ClaimResult& r : judge(evidence)) {
      if (!compares_attention(*r.claim)) continue;
      ++judged_ones;
      EXPECT_EQ(r.verdict, noise == 0 ? Verdict::kCannotTell : Verdict::kNotSupported)
          << r.claim->id << ": " << r.excess << " beside " << r.strictest << ", " << r.note;
      EXPECT_NEAR(r.nulls.at(0).excess, 0, 1e-3) << r.claim->id;
    }
    EXPECT_EQ(judged_ones, 6);
  }
}

}  // namespace
}  // namespace buoy
