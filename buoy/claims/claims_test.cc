// Claims on hand-made tables: what is compared, what is missing, and all verdicts.
#include "buoy/claims/claims.h"

#include <functional>
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

// Samples enough for a verdict, and a little spread of mean 0 among them.
constexpr Index kEnough = 12;
double spread(Index i) {
  return i % 2 == 0 ? 0.1 : -0.1;
}

TEST(Judge, IsAboutWhatExceedsTheNull) {
  SampleTable table;
  for (Index i = 0; i < kEnough; ++i) {
    const double level = static_cast<double>(i);
    table.add(key("mdm", i),
              Measurements{{.quantity = "x", .value = 10 + level + spread(i), .null = 7 + level}});
  }
  Claim claim = claim_of_x();
  claim.null = ClaimNull::kUniform;
  const ClaimResult r = only(judge({.models = {kMdm}, .analyses = &table}, std::span(&claim, 1)));
  EXPECT_EQ(r.n, 12);
  EXPECT_EQ(r.questions, 12);
  EXPECT_DOUBLE_EQ(r.value, 15.5);
  EXPECT_DOUBLE_EQ(r.null, 12.5);
  EXPECT_DOUBLE_EQ(r.excess, 3);
  EXPECT_NEAR(r.lo, 3, 0.1) << "every sample exceeds its own null by about 3, though the values vary";
  EXPECT_NEAR(r.hi, 3, 0.1);
  EXPECT_LT(r.lo, 3);
  EXPECT_GT(r.hi, 3);
  EXPECT_EQ(r.verdict, Verdict::kSupported);
  claim.direction = ClaimDirection::kBelow;
  EXPECT_EQ(only(judge({.models = {kMdm}, .analyses = &table}, std::span(&claim, 1))).verdict,
            Verdict::kNotSupported);
}

TEST(Judge, TakesTheNullFromTheMeanNotFromTheSum) {
  SampleTable table;
  for (Index i = 0; i < kEnough; ++i) {  // a mean of 5 over four steps each
    table.add(key("mdm", i),
              Measurements{{.quantity = "x", .value = 20 + spread(i), .weight = 4, .null = 2.0}});
  }
  Claim claim = claim_of_x();
  claim.null = ClaimNull::kUniform;
  const ClaimResult r = only(judge({.models = {kMdm}, .analyses = &table}, std::span(&claim, 1)));
  EXPECT_NEAR(r.value, 5, 1e-9);
  EXPECT_NEAR(r.excess, 3, 1e-9);
}

TEST(Judge, WithoutSpreadNothingCanBeTold) {
  SampleTable table;
  for (Index i = 0; i < 30; ++i) table.add(key("mdm", i), Measurements{{.quantity = "x", .value = 5}});
  const Claim claim = claim_of_x();
  const ClaimResult r = only(judge({.models = {kMdm}, .analyses = &table}, std::span(&claim, 1)));
  EXPECT_EQ(r.lo, 5);
  EXPECT_EQ(r.hi, 5);
  EXPECT_EQ(r.verdict, Verdict::kCannotTell) << "a width of 0 is no certainty";
  EXPECT_EQ(r.note, "all questions say the same: no spread to judge by");
  EXPECT_FALSE(r.p);
  EXPECT_FALSE(r.survives);
}

TEST(Judge, AWideIntervalTellsNothing) {
  SampleTable table;
  for (Index i = 0; i < kEnough; ++i) {
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

TEST(Judge, FewQuestionsTellNothing) {
  SampleTable table;
  const Claim claim = claim_of_x();
  for (Index i = 0; i < 10; ++i) {
    table.add(key("mdm", i), Measurements{{.quantity = "x", .value = 5 + spread(i)}});
    const ClaimResult r = only(judge({.models = {kMdm}, .analyses = &table}, std::span(&claim, 1)));
    EXPECT_EQ(r.verdict, i < 9 ? Verdict::kCannotTell : Verdict::kSupported);
    EXPECT_EQ(r.note, i == 9 ? "" : fmt::format("{} question{}, 10 are needed", i + 1, i == 0 ? "" : "s"));
  }
}

TEST(Judge, AskingAQuestionThreeTimesDoesNotMakeThreeQuestions) {
  SampleTable table;
  for (Index i = 0; i < 9; ++i) {
    for (const char* data : {"gold at 1", "gold at 5", "gold at 10"}) {
      SampleKey at = key("mdm", i, data);
      at.question = fmt::format("Who is number {}?", i);
      table.add(at, Measurements{{.quantity = "x", .value = 5 + spread(i)}});
    }
  }
  const Claim claim = claim_of_x();
  const ClaimResult r = only(judge({.models = {kMdm}, .analyses = &table}, std::span(&claim, 1)));
  EXPECT_EQ(r.n, 27);
  EXPECT_EQ(r.questions, 9);
  EXPECT_EQ(r.note, "9 questions, 10 are needed");
}

TEST(Judge, ComparesModelsSampleBySample) {
  SampleTable table;
  for (Index i = 0; i < kEnough; ++i) {
    const double difficulty = static_cast<double>(i * i);
    table.add(key("mdm", i),
              Measurements{{.quantity = "x", .value = difficulty - 3 + spread(i), .null = 0.5}});
    table.add(key("arm", i), Measurements{{.quantity = "x", .value = difficulty, .null = 2}});
  }
  table.add(key("mdm", 99), Measurements{{.quantity = "x", .value = 1e6, .null = 0}});
  Claim claim = claim_of_x(ClaimDirection::kBelow);
  claim.scope = ClaimScope::kAgainstCausal;
  claim.null = ClaimNull::kUniform;
  const ClaimResult r = only(judge({.models = {kMdm, kArm}, .analyses = &table}, std::span(&claim, 1)));
  EXPECT_EQ(r.model, "mdm");
  EXPECT_EQ(r.against, "arm");
  EXPECT_EQ(r.n, 12) << "a sample that only one has is left out";
  EXPECT_NEAR(r.value, -3, 1e-12);
  EXPECT_NEAR(r.null, -1.5, 1e-12);
  EXPECT_NEAR(r.excess, -1.5, 1e-12);
  EXPECT_NEAR(r.hi, -1.5, 0.1) << "difficulty is shared and drops out";
  EXPECT_EQ(r.verdict, Verdict::kSupported);
  ASSERT_EQ(r.each.size(), 2U);
  EXPECT_NEAR(r.each[1].value, 506.0 / 12, 1e-9) << "the other model's own: Σ i² ÷ 12";
}

// Exact match of both models, question by question, in percent.
struct Scores {
  double none, given;
};

ClaimResult gain(const std::function<Scores(Index)>& mdm, const std::function<Scores(Index)>& arm,
                 bool same_prompt = false) {
  SampleTable table;
  for (Index i = 0; i < 40; ++i) {
    for (const char* model : {"mdm", "arm"}) {
      const Scores s = model == std::string_view("mdm") ? mdm(i) : arm(i);
      Measurements rows{{.quantity = "em", .part = "none", .value = s.none},
                        {.quantity = "em", .part = "given", .value = s.given}};
      if (same_prompt) rows.push_back({.quantity = "same_prompt", .part = "given", .value = 1});
      table.add(key(model, i), rows);
    }
  }
  for (const ClaimResult& r : judge({.models = {kMdm, kArm}, .answers = &table})) {
    if (r.claim->id == "rag-gain") return r;
  }
  return {};
}

TEST(Judge, ModelsWithoutRoomTellNothing) {
  const auto all = [](Index i) { return Scores{i % 3 == 0 ? 100.0 : 0.0, 100}; };
  const auto nearly = [](Index i) { return Scores{0, i == 0 ? 0.0 : 100.0}; };     // 97.5 %
  const auto most = [](Index i) { return Scores{0, i % 10 == 0 ? 0.0 : 100.0}; };  // 90 %
  const ClaimResult full = gain(all, nearly);
  EXPECT_EQ(full.verdict, Verdict::kCannotTell);
  EXPECT_NE(full.note.find("within 3 points of 0 or 100 %"), std::string::npos) << full.note;
  EXPECT_EQ(gain(all, most).verdict, Verdict::kNotSupported) << "one of the two has room";
}

// Exact match with and without a change, of one masked model; the claim is about the loss.
ClaimResult loss(const std::function<Scores(Index)>& scores) {
  SampleTable table;
  for (Index i = 0; i < 40; ++i) {
    const Scores s = scores(i);
    table.add(key("mdm", i), Measurements{{.quantity = "em", .part = "trailing-masks=0", .value = s.none},
                                          {.quantity = "em", .part = "trailing-masks=32", .value = s.given}});
  }
  for (const ClaimResult& r : judge({.models = {kMdm}, .stress = &table})) {
    if (r.claim->id == "masks-distract") return r;
  }
  return {};
}

TEST(Judge, AModelThatNeverAnswersHasNothingToLose) {
  EXPECT_EQ(loss([](Index i) {
              return Scores{i % 4 == 0 ? 0.0 : 100.0, i % 2 == 0 ? 0.0 : 100.0};
            }).verdict,
            Verdict::kSupported)
      << "75 % and 50 %";
  const ClaimResult floor = loss([](Index i) { return Scores{i == 0 ? 100.0 : 0.0, 0}; });
  EXPECT_EQ(floor.verdict, Verdict::kCannotTell);
  EXPECT_NE(floor.note.find("of the model is within 3 points"), std::string::npos) << floor.note;
  EXPECT_EQ(loss([](Index i) {
              return Scores{i % 2 == 0 ? 100.0 : 0.0, i % 2 == 0 ? 100.0 : 0.0};
            }).note,
            "all questions say the same: no spread to judge by");
}

TEST(Judge, HiddenSinksAreComparedWithTheModelLeftAlone) {
  SampleTable table;
  for (Index i = 0; i < 40; ++i) {
    for (const char* model : {"mdm", "arm"}) {
      const bool masked = model == std::string_view("mdm");
      const bool right = i % 8 != 0, still = right && (masked || i % 2 == 0);
      table.add(key(model, i),
                Measurements{{.quantity = "em", .part = "none", .value = right ? 100.0 : 0},
                             {.quantity = "em", .part = "mask-anchors=5", .value = still ? 100.0 : 0}});
    }
  }
  for (const ClaimResult& r : judge({.models = {kMdm, kArm}, .interventions = &table})) {
    if (r.claim->id != "sinks-dispensable") continue;
    EXPECT_DOUBLE_EQ(r.value, 50) << "one loses nothing, the other half of all";
    EXPECT_EQ(r.verdict, Verdict::kSupported);
  }
}

TEST(Judge, AConditionThatChangesNoPromptIsNotMeasured) {
  const auto some = [](Index i) { return Scores{0, i % 2 == 0 ? 100.0 : 0.0}; };
  const auto none = [](Index i) { return Scores{0, i % 5 == 0 ? 100.0 : 0.0}; };
  EXPECT_EQ(gain(some, none).verdict, Verdict::kSupported);
  const ClaimResult same = gain(some, none, true);
  EXPECT_EQ(same.verdict, Verdict::kNotMeasured);
  EXPECT_EQ(same.note, "no prompt changes with given");
}

TEST(Holm, StepsDownFromTheSmallest) {
  EXPECT_EQ(holm(std::vector{0.01, 0.04, 0.03, 0.005}, 0.05), (std::vector{true, false, false, true}))
      << "0.005 ≤ 0.05/4, 0.01 ≤ 0.05/3, 0.03 > 0.05/2, and 0.04 after it no more";
  EXPECT_EQ(holm(std::vector{0.04}, 0.05), std::vector{true});
  EXPECT_EQ(holm(std::vector{0.04, 0.02}, 0.05), (std::vector{true, true})) << "the second is one of one";
  EXPECT_EQ(holm(std::vector{0.03, 0.03}, 0.05), (std::vector{false, false}));
  EXPECT_TRUE(holm({}, 0.05).empty());
}

TEST(Judge, SaysWhichVerdictsSurviveThatManyWereAsked) {
  SampleTable table;
  for (Index i = 0; i < 40; ++i) {  // δ = 1 is three errors away
    table.add(key("mdm", i), Measurements{{.quantity = "x", .value = 1.45 + (i % 2 == 0 ? 1 : -1)}});
  }
  const std::vector<Claim> one(1, claim_of_x()), many(30, claim_of_x());
  const Evidence evidence{.models = {kMdm}, .analyses = &table};
  const ClaimResult alone = judge(evidence, one).at(0);
  EXPECT_EQ(alone.verdict, Verdict::kSupported);
  EXPECT_LT(*alone.p, 0.05);
  EXPECT_TRUE(alone.survives);
  const ClaimResult crowd = judge(evidence, many).at(0);
  EXPECT_EQ(crowd.verdict, Verdict::kSupported);
  EXPECT_FALSE(crowd.survives);
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
    EXPECT_GE(claim.beyond, 0) << claim.id;
    EXPECT_LE(claim.beyond, claim.delta) << claim.id;
  }
  EXPECT_GE(ids.size(), 30U);
}

TEST(Claims, WhatIsSaidOfAttentionMustExceedTheShuffledTwin) {
  for (const Claim& claim : claims()) {
    const bool attention = claim.source == ClaimSource::kAnalyses || claim.source == ClaimSource::kByGold;
    const std::set<NullKind> nulls(claim.nulls.begin(), claim.nulls.end());
    EXPECT_EQ(nulls.contains(NullKind::kShuffled), attention) << claim.id;
    EXPECT_EQ(nulls.size(), claim.nulls.size()) << claim.id;
    EXPECT_FALSE(nulls.contains(NullKind::kUniform)) << claim.id << ": it is the first null, or none";
    EXPECT_TRUE(attention || nulls.empty()) << claim.id;
  }
}

TEST(Claims, StandPaperByPaperInTheOrderOfPapers) {
  std::vector<std::string_view> order;
  for (const Claim& claim : claims()) {
    if (order.empty() || order.back() != claim.paper) order.push_back(claim.paper);
  }
  std::vector<std::string_view> expected;
  for (const Paper& paper : papers()) {
    expected.push_back(paper.arxiv);
    EXPECT_FALSE(paper.subject.empty()) << paper.arxiv;
  }
  EXPECT_EQ(order, expected);
}

TEST(ClaimsCsv, LeavesNumbersOutThatWereNotMeasured) {
  SampleTable table;
  for (Index i = 0; i < 5; ++i) {
    table.add(key("mdm", i), Measurements{{.quantity = "x", .value = 2.5}});
    table.add(key("arm", i), Measurements{{.quantity = "x", .value = 0.5}});
  }
  Claim claim = claim_of_x();
  claim.paper = "9901.00001";
  claim.topic = "Topic";
  claim.unit = "a, b";
  const std::string columns =
      "claim,paper,topic,model,against,n,questions,value,null,value_minus_null,lo,hi,direction,delta,unit,"
      "each,"
      "strictest_null,nulls,p,survives_holm,verdict,models,models_against,spread,spread_against,models_lo,"
      "models_hi,verdict_over_models,note\n";
  EXPECT_EQ(claims_csv(judge({.models = {kMdm, kArm}, .analyses = &table}, std::span(&claim, 1))),
            columns +
                "x,arXiv:9901.00001,Topic,mdm,,5,5,2.5,0,2.5,2.5,2.5,above,1,\"a, "
                "b\",mdm=2.5;arm=0.5,stated,stated=0,,,"
                "cannot tell,,,,,,,,"
                "\"5 questions, 10 are needed\"\n");
  EXPECT_EQ(
      claims_csv(judge({.models = {kMdm}}, std::span(&claim, 1))),
      columns +
          "x,arXiv:9901.00001,Topic,mdm,,0,0,,,,,,above,1,\"a, b\",,,,,,not measured,,,,,,,,attention was "
          "not analysed\n");
}

}  // namespace
}  // namespace buoy
