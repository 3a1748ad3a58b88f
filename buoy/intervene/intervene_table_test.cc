// Interventions on hand-made tables: each condition against none and against its control, item by item.
#include "buoy/intervene/intervene_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

constexpr const char* kCut = "cut-heads=4";
constexpr const char* kRandom = "cut-random=4";

SampleKey key(const char* model, Index sample, const char* data = "qa") {
  return {.model = model, .data = data, .task = "t", .sample = fmt::to_string(sample)};
}

void add(SampleTable& answers, const char* model, Index sample, const char* condition, double em, double f1) {
  answers.add(key(model, sample), Measurements{{.quantity = "em", .part = condition, .value = em},
                                               {.quantity = "f1", .part = condition, .value = f1}});
}

// Items are hard or easy; cutting heads costs 40 points of F1 on every item, cutting random ones 10.
SampleTable made_answers() {
  SampleTable answers;
  for (Index i = 0; i < 6; ++i) {
    const double f1 = 50 + 8 * static_cast<double>(i), em = i < 3 ? 0 : 100;
    add(answers, "mdm", i, kNoIntervention, em, f1);
    add(answers, "mdm", i, kCut, 0, f1 - 40);
    add(answers, "mdm", i, kRandom, em, f1 - 10);
  }
  add(answers, "arm", 0, kNoIntervention, 100, 100);
  return answers;
}

const std::vector<std::string> kModels = {"mdm", "arm"};
const std::vector<InterventionCondition> kConditions = {{kNoIntervention}, {kCut, kRandom}, {kRandom}};

TEST(InterventionTable, AreComparedWithNoneAndWithTheirControlItemByItem) {
  const InterventionResult result = make_intervention_result(made_answers(), {}, kModels, kConditions);
  ASSERT_EQ(result.rows.size(), 4U) << "three of the one model, one of the other";
  const InterventionRow& none = result.rows[0];
  EXPECT_EQ(none.condition, "none");
  EXPECT_EQ(none.n, 6);
  EXPECT_EQ(none.em.mean, 50);
  EXPECT_NEAR(none.f1.mean, 70, 1e-12);
  EXPECT_FALSE(none.em_change);
  EXPECT_FALSE(none.f1_against_control);
  const InterventionRow& cut = result.rows[1];
  EXPECT_EQ(cut.control, kRandom);
  EXPECT_EQ(cut.em.mean, 0);
  EXPECT_EQ(cut.em_change->mean, -50);
  EXPECT_NEAR(cut.f1_change->mean, -40, 1e-12);
  EXPECT_NEAR(*cut.f1_change->lo, -40, 1e-9) << "the same loss on every item: no width";
  EXPECT_NEAR(cut.f1_against_control->mean, -30, 1e-12);
  EXPECT_EQ(cut.em_against_control->mean, -50);
  EXPECT_FALSE(result.rows[2].em_against_control) << "a control has none itself";
  EXPECT_EQ(result.rows[3].model, "arm");
}

TEST(InterventionTable, OnlyItemsUnderBothConditionsAreCompared) {
  SampleTable answers = made_answers();
  add(answers, "mdm", 77, kNoIntervention, 100, 0);
  const InterventionResult result = make_intervention_result(answers, {}, kModels, kConditions);
  EXPECT_EQ(result.rows[0].n, 7);
  EXPECT_EQ(result.rows[1].f1_change->n, 6);
  EXPECT_NEAR(result.rows[1].f1_change->mean, -40, 1e-12);
}

TEST(InterventionTable, WhatTheProbeSawIsComparedToo) {
  SampleTable seen;
  for (Index i = 0; i < 5; ++i) {
    const double count = 4 + static_cast<double>(i);
    seen.add(key("mdm", i, "a, b, none"),
             Measurements{{.quantity = "anchor_count", .part = "read", .value = count},
                          {.quantity = "anchor_count", .layer = 2, .part = "read", .value = 99}});
    seen.add(key("mdm", i, "a, b, cut-heads=4"),
             Measurements{{.quantity = "anchor_count", .part = "read", .value = count - 2}});
  }
  const InterventionResult result = make_intervention_result(made_answers(), seen, kModels, kConditions);
  ASSERT_EQ(result.rows[0].seen.size(), 1U) << "rows of single layers are passed over";
  EXPECT_EQ(result.rows[0].seen[0].mean, 6);
  EXPECT_TRUE(result.rows[0].seen_change.empty());
  ASSERT_EQ(result.rows[1].seen_change.size(), 1U);
  EXPECT_EQ(result.rows[1].seen_change[0].part, "read");
  EXPECT_EQ(result.rows[1].seen_change[0].n, 5);
  EXPECT_EQ(result.rows[1].seen_change[0].mean, -2);
  EXPECT_NEAR(*result.rows[1].seen_change[0].hi, -2, 1e-9);
  EXPECT_TRUE(result.rows[2].seen.empty()) << "that condition was not traced";
}

TEST(InterventionTable, AControlThatWasNotRunIsNamed) {
  const std::vector<InterventionCondition> conditions = {{kNoIntervention}, {kCut, kRandom}};
  EXPECT_EQ(error_of([&] { make_intervention_result(made_answers(), {}, kModels, conditions); }),
            "condition cut-heads=4: its control cut-random=4 was not run, expected among the conditions");
}

// Four items; each key more costs 10 points of exact match, of the control 2, on every item.
TEST(DoseResponse, IsTheMeanOfTheItemsOwnLinesBesideTheControls) {
  SampleTable answers;
  std::vector<InterventionCondition> conditions = {{.name = kNoIntervention}};
  for (const Index level : {1, 2, 5}) {
    conditions.push_back({.name = fmt::format("mask-anchors={}", level),
                          .control = fmt::format("mask-random={}", level),
                          .kind = "mask-anchors",
                          .level = level});
    conditions.push_back(
        {.name = fmt::format("mask-random={}", level), .kind = "mask-random", .level = level});
  }
  for (Index i = 0; i < 4; ++i) {
    const double em = 60 + 10 * static_cast<double>(i);
    add(answers, "mdm", i, kNoIntervention, em, em);
    for (const Index level : {1, 2, 5}) {
      const double keys = static_cast<double>(level);
      add(answers, "mdm", i, fmt::format("mask-anchors={}", level).c_str(), em - 10 * keys, em);
      add(answers, "mdm", i, fmt::format("mask-random={}", level).c_str(), em - 2 * keys, em);
    }
  }
  add(answers, "mdm", 9, kNoIntervention, 0, 0);  // has not all levels: not counted
  add(answers, "mdm", 9, "mask-anchors=1", 100, 100);
  const InterventionResult result = make_intervention_result(answers, {}, kModels, conditions);
  ASSERT_EQ(result.curves.size(), 1u) << "the control is no curve of its own, and the other model has none";
  const DoseCurve& curve = result.curves[0];
  EXPECT_EQ(curve.intervention, "mask-anchors");
  EXPECT_EQ(curve.control, "mask-random");
  EXPECT_NEAR(curve.slope.mean, -10, 1e-9);
  EXPECT_EQ(curve.slope.n, 4);
  EXPECT_NEAR(curve.control_slope->mean, -2, 1e-9);
  EXPECT_NEAR(curve.slope_beyond->mean, -8, 1e-9);
  ASSERT_EQ(curve.points.size(), 3u);
  EXPECT_EQ(curve.points[2].level, 5);
  EXPECT_NEAR(curve.points[2].change->mean, -50, 1e-9);
  EXPECT_NEAR(curve.points[2].control_change->mean, -10, 1e-9);
  const std::string csv = intervene_csv(result);
  EXPECT_NE(csv.find("\nmdm,mask-anchors,mask-random,em_slope,,,4,-10,"), csv.npos) << csv;
  EXPECT_NE(csv.find("\nmdm,mask-anchors,mask-random,em_slope,,mask-random,4,-8,"), csv.npos) << csv;
}

TEST(DoseResponse, NeedsTwoLevels) {
  const InterventionResult one = make_intervention_result(
      made_answers(), {}, kModels,
      std::vector<InterventionCondition>{{.name = kNoIntervention},
                                         {.name = kCut, .control = kRandom, .kind = "cut-heads", .level = 4},
                                         {.name = kRandom, .kind = "cut-random", .level = 4}});
  EXPECT_TRUE(one.curves.empty());
}

TEST(InterventionTable, OffersTheScoresOfEverySampleUnderEveryConditionToTheClaims) {
  const InterventionResult result = make_intervention_result(made_answers(), {}, kModels, kConditions);
  const auto& columns = result.samples.columns();
  const auto cut = columns.find({.quantity = "em", .part = kCut});
  const auto none = columns.find({.quantity = "em", .part = kNoIntervention});
  ASSERT_TRUE(cut != columns.end() && none != columns.end());
  EXPECT_EQ(cut->second.values, (std::vector<double>{0, 0, 0, 0, 0, 0})) << "in percent, item by item";
  EXPECT_EQ(none->second.values, (std::vector<double>{0, 0, 0, 100, 100, 100, 100})) << "the other model too";
  EXPECT_EQ(result.samples.samples()[0].model, "mdm") << "under the model's own name";
}

TEST(InterventionTable, CsvHasEveryNumberAndWhatItIsComparedWith) {
  SampleTable answers;
  for (Index i = 0; i < 2; ++i) {
    add(answers, "m", i, kNoIntervention, 100, 80);
    add(answers, "m", i, kCut, 0, 40);
    add(answers, "m", i, kRandom, 100, 60);
  }
  const std::vector<std::string> models = {"m"};
  const std::string csv = intervene_csv(make_intervention_result(answers, {}, models, kConditions));
  EXPECT_TRUE(
      csv.starts_with("model,condition,control,quantity,part,against,n,mean,lo,hi\n"
                      "m,none,,em,,,2,100,100,100\n"
                      "m,none,,f1,,,2,80,80,80\n"
                      "m,cut-heads=4,cut-random=4,em,,,2,0,0,0\n"))
      << csv;
  EXPECT_NE(csv.find("\nm,cut-heads=4,cut-random=4,f1,,none,2,-40,-40,-40\n"), csv.npos) << csv;
  EXPECT_NE(csv.find("\nm,cut-heads=4,cut-random=4,f1,,cut-random=4,2,-20,-20,-20\n"), csv.npos) << csv;
}

}  // namespace
}  // namespace buoy
