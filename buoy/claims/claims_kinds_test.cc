// Several models of one kind: what holds of these models, and what of models like them.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/claims/claims.h"

namespace buoy {
namespace {

constexpr Index kAsked = 20;

// Questions differ by `noise` alike in all models, so that the mean of every model is its own number exactly.
void add_kind_model(SampleTable& table, const std::string& model, double mean, double noise = 0.1) {
  for (Index q = 0; q < kAsked; ++q) {
    const double off = noise * (static_cast<double>(q) - (kAsked - 1) / 2.0) / kAsked;
    table.add({.model = model, .data = "d", .task = "t", .sample = fmt::to_string(q)},
              Measurements{{.quantity = "x", .value = mean + off}});
  }
}

Claim claim_of_kinds(ClaimScope scope = ClaimScope::kMasked) {
  return {.id = "x", .scope = scope, .side = {.quantity = "x"}, .delta = 1, .null = ClaimNull::kStated};
}

EvidenceModel masked(const char* name) {
  return {name, Writing::kFillsMasks, "mdm"};
}
EvidenceModel causal(const char* name) {
  return {name, Writing::kAppends, "arm"};
}

ClaimResult judged(const SampleTable& table, std::vector<EvidenceModel> models, const Claim& claim) {
  const std::vector<ClaimResult> results =
      judge({.models = std::move(models), .analyses = &table}, std::span(&claim, 1));
  EXPECT_EQ(results.size(), 1U);
  return results.at(0);
}

TEST(Kinds, AreSupportedOverModelsWhereModelsAgree) {
  SampleTable table;
  add_kind_model(table, "a", 2.0);
  add_kind_model(table, "b", 2.2);
  add_kind_model(table, "c", 1.9);
  const Claim claim = claim_of_kinds();
  const ClaimResult r = judged(table, {masked("a"), masked("b"), masked("c")}, claim);
  EXPECT_EQ(r.model, "mdm");
  EXPECT_NEAR(r.excess, 6.1 / 3, 1e-12);
  EXPECT_EQ(r.verdict, Verdict::kSupported);
  ASSERT_TRUE(r.over_models);
  // s² = (0.0333² + 0.1667² + 0.1333²) ÷ 2, t of 2 degrees is 4.3027.
  const double deviation = std::sqrt((1.0 / 900 + 25.0 / 900 + 16.0 / 900) / 2);
  EXPECT_EQ(r.over_models->spread.models, 3);
  EXPECT_NEAR(r.over_models->spread.deviation, deviation, 1e-12);
  EXPECT_NEAR(r.over_models->spread.lo, 6.1 / 3 - 4.302652729911275 * deviation / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(r.over_models->spread.hi, 6.1 / 3 + 4.302652729911275 * deviation / std::sqrt(3.0), 1e-9);
  EXPECT_EQ(r.over_models->verdict, Verdict::kSupported);
  EXPECT_EQ(verdict_words(r), "supported over questions and over 3 models");
}

TEST(Kinds, AreNotSupportedOverModelsByOneModelOfThree) {
  SampleTable table;
  add_kind_model(table, "a", 4.0);
  add_kind_model(table, "b", 0.5);
  add_kind_model(table, "c", 0.6);
  const Claim claim = claim_of_kinds();
  const ClaimResult r = judged(table, {masked("a"), masked("b"), masked("c")}, claim);
  EXPECT_EQ(r.verdict, Verdict::kSupported) << "of these three";
  EXPECT_EQ(r.over_models->verdict, Verdict::kCannotTell) << "of models like them";
  EXPECT_EQ(verdict_words(r), "supported over questions, cannot tell over 3 models");
}

TEST(Kinds, OfCopiesHaveNoSpreadAndTheNumbersOfOne) {
  SampleTable table;
  for (const char* name : {"a", "b", "c"}) add_kind_model(table, name, 3, 1);
  const Claim claim = claim_of_kinds();
  const ClaimResult copies = judged(table, {masked("a"), masked("b"), masked("c")}, claim);
  const ClaimResult one = judged(table, {{"a", Writing::kFillsMasks}}, claim);
  EXPECT_FALSE(one.over_models);
  EXPECT_EQ(verdict_words(one), "supported");
  EXPECT_NEAR(copies.excess, one.excess, 1e-12);
  EXPECT_NEAR(copies.lo, one.lo, 1e-9) << "three copies of a model know no more than it does";
  EXPECT_NEAR(copies.hi, one.hi, 1e-9);
  EXPECT_EQ(copies.n, one.n);
  EXPECT_NEAR(copies.over_models->spread.deviation, 0, 1e-12);
  EXPECT_EQ(copies.over_models->verdict, Verdict::kCannotTell);
  EXPECT_EQ(copies.over_models->note, "all models say the same: no spread to judge by");
}

TEST(Kinds, AreComparedByTheirMeansAndBothSpreads) {
  SampleTable table;
  add_kind_model(table, "a", 5.0);
  add_kind_model(table, "b", 5.4);
  add_kind_model(table, "p", 1.0,
                 -0.1);  // the other way round: the difference must have a spread over questions
  add_kind_model(table, "q", 1.2, -0.1);
  const Claim claim = claim_of_kinds(ClaimScope::kAgainstCausal);
  const ClaimResult r = judged(table, {masked("a"), causal("p"), masked("b"), causal("q")}, claim);
  EXPECT_EQ(r.model, "mdm");
  EXPECT_EQ(r.against, "arm");
  EXPECT_NEAR(r.excess, 4.1, 1e-12);
  const ModelSpread& spread = r.over_models->spread;
  EXPECT_EQ(spread.models, 2);
  EXPECT_EQ(spread.against, 2);
  EXPECT_NEAR(spread.deviation, 0.4 / std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(spread.against_deviation, 0.2 / std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(spread.error, std::sqrt(0.04 + 0.01), 1e-12) << "Σ s²/n";
  EXPECT_NEAR((spread.lo + spread.hi) / 2, 4.1, 1e-9);
  EXPECT_EQ(verdict_words(r), "supported over questions and over 2 and 2 models");
}

TEST(Kinds, OfOneModelAreTakenAsTheyAre) {
  SampleTable table;
  add_kind_model(table, "a", 5.0);
  add_kind_model(table, "b", 5.1);
  add_kind_model(table, "c", 5.2);
  add_kind_model(table, "p", 1.0);
  const Claim claim = claim_of_kinds(ClaimScope::kAgainstCausal);
  const ClaimResult r =
      judged(table, {masked("a"), masked("b"), masked("c"), {"p", Writing::kAppends}}, claim);
  EXPECT_EQ(r.over_models->spread.against, 1);
  EXPECT_NEAR(r.over_models->spread.error, 0.1 / std::sqrt(3.0), 1e-12);
  EXPECT_EQ(r.over_models->verdict, Verdict::kSupported);
  EXPECT_EQ(r.over_models->note, "p is one model");
}

TEST(Kinds, LeaveOutModelsWithoutTheNumbersByName) {
  SampleTable table;
  add_kind_model(table, "a", 2.0);
  add_kind_model(table, "b", 2.1);
  table.add({.model = "c", .data = "d", .task = "t", .sample = "0"}, Measurements{{.quantity = "y"}});
  const Claim claim = claim_of_kinds();
  const ClaimResult r = judged(table, {masked("a"), masked("b"), masked("c")}, claim);
  EXPECT_EQ(r.over_models->spread.models, 2);
  EXPECT_NEAR(r.excess, 2.05, 1e-12);
  EXPECT_EQ(r.note, "without c, which has none of these numbers");
}

TEST(Kinds, TakeEachModelsOwnNull) {
  SampleTable table, shuffled;
  add_kind_model(table, "a", 5);
  add_kind_model(table, "b", 6);
  add_kind_model(shuffled, "a", 1, 0);
  add_kind_model(shuffled, "b", 1.5, 0);
  constexpr NullKind kShuffled[] = {NullKind::kShuffled};
  Claim claim = claim_of_kinds();
  claim.nulls = kShuffled;
  const std::vector<ClaimResult> results =
      judge({.models = {masked("a"), masked("b")},
             .analyses = &table,
             .nulls = {{.kind = NullKind::kShuffled, .analyses = &shuffled}}},
            std::span(&claim, 1));
  const NullResult& null = results.at(0).nulls.at(1);
  EXPECT_NEAR(null.excess, (4 + 4.5) / 2, 1e-12);
  EXPECT_NEAR(null.over_models->deviation, 0.5 / std::sqrt(2.0), 1e-12);
}

TEST(Kinds, StandInTheTable) {
  SampleTable table;
  add_kind_model(table, "a", 2.0);
  add_kind_model(table, "b", 2.0625);
  const Claim claim = claim_of_kinds();
  const ClaimResult r = judged(table, {masked("a"), masked("b")}, claim);
  const std::string csv = claims_csv(std::span(&r, 1));
  EXPECT_NE(csv.find("verdict,models,models_against,spread,spread_against,models_lo,models_hi,"
                     "verdict_over_models,note\n"),
            std::string::npos)
      << csv;
  EXPECT_NE(csv.find(",supported,2,,0.0441941738,,1.6341811,2.4283189,supported,\n"), std::string::npos)
      << csv;
}

}  // namespace
}  // namespace buoy
