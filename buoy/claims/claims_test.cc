// Claims on hand-made tables: what is compared, what is missing, and all verdicts.
#include "buoy/claims/claims.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace buoy {
namespace {

SampleKey key(const char* model, Index sample, const char* data = "d") {
  return {.model = model, .data = data, .task = "t", .sample = fmt::to_string(sample)};
}

const EvidenceModel kMdm{"mdm", Writing::kFillsMasks}, kArm{"arm", Writing::kAppends};

// A claim about the quantity "x" of masked models.
Claim claim_of_x(ClaimDirection direction = ClaimDirection::kAbove) {
  return {
      .id = "x", .side = {.quantity = "x"}, .direction = direction, .delta = 1, .null = ClaimNull::kStated};
}

ClaimResult only(const std::vector<ClaimResult>& results) {
  EXPECT_EQ(results.size(), 1U);
  return results.at(0);
}

TEST(Verdict, BeyondShortOfAndAcrossDelta) {
  using enum Verdict;
  constexpr auto above = ClaimDirection::kAbove, below = ClaimDirection::kBelow;
  EXPECT_EQ(verdict_of(above, 1, 1.1, 2), kSupported);
  EXPECT_EQ(verdict_of(above, 1, 1, 2), kCannotTell) << "beyond δ, not at it";
  EXPECT_EQ(verdict_of(above, 1, 0.9, 2), kCannotTell);
  EXPECT_EQ(verdict_of(above, 1, 0.1, 0.9), kNotSupported) << "above 0, but too little to matter";
  EXPECT_EQ(verdict_of(above, 1, -3, -2), kNotSupported) << "the other way round";
  EXPECT_EQ(verdict_of(below, 1, -2, -1.1), kSupported);
  EXPECT_EQ(verdict_of(below, 1, -2, -0.9), kCannotTell);
  EXPECT_EQ(verdict_of(below, 1, -0.9, 0.1), kNotSupported);
  EXPECT_EQ(verdict_of(below, 1, 2, 3), kNotSupported);
}

TEST(Judge, HasTheSameNumberOfEveryModelBesideTheVerdict) {
  SampleTable table;
  for (Index i = 0; i < 6; ++i) {
    table.add(key("mdm", i), Measurements{{.quantity = "x", .value = 10, .null = 7}});
    table.add(key("arm", i), Measurements{{.quantity = "x", .value = 4, .null = 3.5}});
  }
  Claim claim = claim_of_x();
  claim.null = ClaimNull::kUniform;
  const EvidenceModel other{"other", kArm.writing};
  for (const ClaimScope scope : {ClaimScope::kMasked, ClaimScope::kAgainstCausal}) {
    claim.scope = scope;
    const std::vector<ClaimResult> results =
        judge({.models = {kMdm, kArm, other}, .analyses = &table}, std::span(&claim, 1));
    for (const ClaimResult& r : results) {
      ASSERT_EQ(r.each.size(), 3U);
      EXPECT_EQ(r.each[0].model, "mdm");
      EXPECT_EQ(r.each[0].n, 6);
      EXPECT_DOUBLE_EQ(r.each[0].value, 10);
      EXPECT_DOUBLE_EQ(r.each[0].null, 7);
      EXPECT_DOUBLE_EQ(r.each[1].value, 4);
      EXPECT_DOUBLE_EQ(r.each[1].null, 3.5);
      EXPECT_EQ(r.each[2].n, 0) << "no sample of it";
    }
  }
}

TEST(Judge, IsAboutWhatExceedsTheNull) {
  SampleTable table;
  for (Index i = 0; i < 6; ++i) {
    const double step = static_cast<double>(i);
    table.add(key("mdm", i), Measurements{{.quantity = "x", .value = 10 + step, .null = 7 + step}});
  }
  Claim claim = claim_of_x();
  claim.null = ClaimNull::kUniform;
  const ClaimResult r = only(judge({.models = {kMdm}, .analyses = &table}, std::span(&claim, 1)));
  EXPECT_EQ(r.n, 6);
  EXPECT_DOUBLE_EQ(r.value, 12.5);
  EXPECT_DOUBLE_EQ(r.null, 9.5);
  EXPECT_DOUBLE_EQ(r.excess, 3);
  EXPECT_DOUBLE_EQ(r.lo, 3) << "every sample exceeds its own null by 3: no width, though the values vary";
  EXPECT_DOUBLE_EQ(r.hi, 3);
  EXPECT_EQ(r.verdict, Verdict::kSupported);
  claim.direction = ClaimDirection::kBelow;
  EXPECT_EQ(only(judge({.models = {kMdm}, .analyses = &table}, std::span(&claim, 1))).verdict,
            Verdict::kNotSupported);
}

TEST(Judge, AWideIntervalTellsNothing) {
  SampleTable table;
  for (Index i = 0; i < 8; ++i) {
    table.add(key("mdm", i), Measurements{{.quantity = "x", .value = i % 2 == 0 ? -4.0 : 8.0}});
  }
  const Claim claim = claim_of_x();
  const ClaimResult r = only(judge({.models = {kMdm}, .analyses = &table}, std::span(&claim, 1)));
  EXPECT_EQ(r.value, 2);
  EXPECT_LT(r.lo, 1);
  EXPECT_GT(r.hi, 1);
  EXPECT_EQ(r.verdict, Verdict::kCannotTell);
  EXPECT_EQ(r.note, "");
}

TEST(Judge, FewSamplesTellNothing) {
  SampleTable table;
  const Claim claim = claim_of_x();
  for (Index i = 0; i < 5; ++i) {
    table.add(key("mdm", i), Measurements{{.quantity = "x", .value = 5}});
    const ClaimResult r = only(judge({.models = {kMdm}, .analyses = &table}, std::span(&claim, 1)));
    EXPECT_EQ(r.verdict, i < 4 ? Verdict::kCannotTell : Verdict::kSupported);
    EXPECT_EQ(r.note, i < 4 ? fmt::format("{} samples, 5 are needed", i + 1) : "");
  }
}

TEST(Judge, ComparesModelsSampleBySample) {
  SampleTable table;
  for (Index i = 0; i < 6; ++i) {
    const double difficulty = static_cast<double>(i * i);
    table.add(key("mdm", i), Measurements{{.quantity = "x", .value = difficulty - 3, .null = 0.5}});
    table.add(key("arm", i), Measurements{{.quantity = "x", .value = difficulty, .null = 2}});
  }
  table.add(key("mdm", 99), Measurements{{.quantity = "x", .value = 1e6, .null = 0}});
  Claim claim = claim_of_x(ClaimDirection::kBelow);
  claim.scope = ClaimScope::kAgainstCausal;
  claim.null = ClaimNull::kUniform;
  const ClaimResult r = only(judge({.models = {kMdm, kArm}, .analyses = &table}, std::span(&claim, 1)));
  EXPECT_EQ(r.model, "mdm");
  EXPECT_EQ(r.against, "arm");
  EXPECT_EQ(r.n, 6) << "a sample that only one has is left out";
  EXPECT_NEAR(r.value, -3, 1e-12);
  EXPECT_NEAR(r.null, -1.5, 1e-12);
  EXPECT_NEAR(r.excess, -1.5, 1e-12);
  EXPECT_NEAR(r.hi, -1.5, 1e-9) << "difficulty is shared and drops out";
  EXPECT_EQ(r.verdict, Verdict::kSupported);
}

TEST(Judge, EveryMaskedModelMeetsEveryCausalOne) {
  const Evidence evidence{.models = {{"m1", Writing::kFillsMasks},
                                     {"c1", Writing::kAppends},
                                     {"m2", Writing::kFillsMasks},
                                     {"c2", Writing::kAppends}}};
  Claim claim = claim_of_x();
  EXPECT_EQ(judge(evidence, std::span(&claim, 1)).size(), 2U);
  claim.scope = ClaimScope::kAgainstCausal;
  const auto pairs = judge(evidence, std::span(&claim, 1));
  ASSERT_EQ(pairs.size(), 4U);
  EXPECT_EQ(pairs[1].model + " " + pairs[1].against, "m1 c2");
}

TEST(Judge, WhatIsMissingIsSaid) {
  Claim claim = claim_of_x();
  const auto note = [&](const Evidence& evidence) {
    const ClaimResult r = only(judge(evidence, std::span(&claim, 1)));
    EXPECT_EQ(r.verdict, Verdict::kNotMeasured);
    EXPECT_EQ(r.n, 0);
    return r.note;
  };
  const SampleTable empty;
  EXPECT_EQ(note({.models = {kArm}, .analyses = &empty}), "no masked diffusion model");
  EXPECT_EQ(note({.models = {kMdm}}), "attention was not analysed");
  EXPECT_EQ(note({.models = {kMdm}, .analyses = &empty}), "no sample has what it takes (x)");
  claim.source = ClaimSource::kStress;
  EXPECT_EQ(note({.models = {kMdm}, .analyses = &empty}), "the models were not put under stress");
  claim.scope = ClaimScope::kAgainstCausal;
  EXPECT_EQ(note({.models = {kMdm}, .stress = &empty}), "no autoregressive model to compare with");
  EXPECT_EQ(note({.models = {kMdm, kArm}, .stress = &empty}),
            "no sample of both models has what it takes (x)");
}

TEST(Judge, EveryClaimHasAResult) {
  const auto results = judge({});
  ASSERT_EQ(results.size(), claims().size());
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].claim, &claims()[i]);
}

TEST(Claims, TheTableIsWellFormed) {
  std::set<std::string_view> ids;
  for (const Claim& claim : claims()) {
    EXPECT_TRUE(ids.insert(claim.id).second) << claim.id;
    EXPECT_GT(claim.delta, 0) << claim.id;
    for (const std::string_view text :
         {claim.topic, claim.sentence, claim.contrast, claim.unit, claim.why, claim.null_name}) {
      EXPECT_FALSE(text.empty()) << claim.id;
    }
    EXPECT_TRUE(claim.minus == nullptr || claim.scope == ClaimScope::kMasked) << claim.id;
  }
}

TEST(ClaimsCsv, LeavesNumbersOutThatWereNotMeasured) {
  SampleTable table;
  for (Index i = 0; i < 5; ++i) table.add(key("mdm", i), Measurements{{.quantity = "x", .value = 2.5}});
  Claim claim = claim_of_x();
  claim.topic = "Topic";
  claim.unit = "a, b";
  EXPECT_EQ(
      claims_csv(judge({.models = {kMdm}, .analyses = &table}, std::span(&claim, 1))),
      "claim,topic,model,against,n,value,null,value_minus_null,lo,hi,direction,delta,unit,verdict,note\n"
      "x,Topic,mdm,,5,2.5,0,2.5,2.5,2.5,above,1,\"a, b\",supported,\n");
  EXPECT_EQ(
      claims_csv(judge({.models = {kMdm}}, std::span(&claim, 1))),
      "claim,topic,model,against,n,value,null,value_minus_null,lo,hi,direction,delta,unit,verdict,note\n"
      "x,Topic,mdm,,0,,,,,,above,1,\"a, b\",not measured,attention was not analysed\n");
}

}  // namespace
}  // namespace buoy
