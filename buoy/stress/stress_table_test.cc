// Curves, losses and slopes against numbers worked out by hand.
#include "buoy/stress/stress_table.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "buoy/stress/stress_test_support.h"

namespace buoy {
namespace {

constexpr double kExact = 1e-9;

SampleResult result(const std::string& model, const std::string& condition, Index item, double em,
                    const std::string& answer = "") {
  return {.key = {model, "set", condition, "item-" + std::to_string(item)},
          .number = item,
          .task = "t",
          .answer = answer,
          .score = {.em = em, .substring = em, .f1 = em / 2}};
}

class StressTable : public testing::Test {
 protected:
  StressTable() {
    for (Index i = 0; i < 4; ++i) {
      items_.push_back({.id = "item-" + std::to_string(i), .question = "q", .answers = {"old"}});
    }
    order_.models = {"a", "b"};
    order_.data = {{.name = "set", .items = items_}};
    add_levels("irrelevant=0,0.5,1");
  }
  void add_levels(const std::string& spec) {
    for (StressLevel& level : parse_stress(spec, {})) order_.levels.push_back(std::move(level));
  }
  // One score for each level of irrelevant.
  void add_item(const std::string& model, Index item, const std::vector<double>& em) {
    for (std::size_t i = 0; i < em.size(); ++i) {
      results_.push_back(result(model, order_.levels[i].name(), item, em[i]));
    }
  }
  const StressCurve& curve(const StressResult& made, const std::string& model) const {
    return *std::ranges::find(made.curves, model, &StressCurve::model);
  }

  std::vector<QaItem> items_;
  StressOrder order_;
  std::vector<SampleResult> results_;
};

TEST_F(StressTable, ScoresLossesAndSlopesAreThoseOfTheItems) {
  add_item("a", 0, {1, 1, 1});
  add_item("a", 1, {1, 0, 0});
  add_item("a", 2, {1, 1, 0});
  add_item("a", 3, {1, 0, 1});
  const StressResult made = make_stress_result(results_, order_);
  ASSERT_EQ(made.curves.size(), 1u);
  const StressCurve& curve = made.curves[0];
  ASSERT_EQ(curve.points.size(), 3u);
  EXPECT_EQ(curve.points[1].scores[0].n, 4);
  EXPECT_NEAR(curve.points[0].scores[0].mean, 100, kExact);
  EXPECT_NEAR(curve.points[1].scores[0].mean, 50, kExact);
  EXPECT_NEAR(curve.points[1].scores[2].mean, 25, kExact);
  EXPECT_FALSE(curve.points[0].losses);
  EXPECT_NEAR((*curve.points[2].losses)[0].mean, 50, kExact);
  EXPECT_NEAR(*(*curve.points[2].losses)[0].lo, 50 - std::sqrt(12500), kExact)
      << "losses of 0, 100, 100 and 0: t is ±√12 where four alike are drawn, the error √(3125/3)";
  EXPECT_NEAR(*(*curve.points[2].losses)[0].hi, 100, kExact) << "no loss is more";
  EXPECT_EQ(curve.baseline, 0);
  EXPECT_EQ(curve.worst, 1);  // the first of two alike
  // x = 0, 5, 10 units of 10 %; the means are 100, 50, 50: slope = Σ (x − 5)·y ÷ 50.
  ASSERT_TRUE(curve.slopes);
  EXPECT_NEAR((*curve.slopes)[0].mean, (-5 * 100 + 5 * 50) / 50.0, kExact);
  // Items: 0, −10, −10, 0.
  EXPECT_NEAR(*(*curve.slopes)[0].lo, -5 - std::sqrt(125), kExact);
  EXPECT_NEAR(*(*curve.slopes)[0].hi, -5 + std::sqrt(125), kExact);
  EXPECT_NEAR((*curve.slopes)[2].mean, -2.5, kExact);
}

TEST_F(StressTable, SlopesAreOfItemsThatHaveAllLevels) {
  add_item("a", 0, {1, 0.5, 0});
  add_item("a", 1, {1, 1});
  results_.push_back(result("a", "irrelevant=1", 2, 0));
  results_.push_back(result("a", "something else", 3, 1));
  const StressResult made = make_stress_result(results_, order_);
  const StressCurve& curve = made.curves.at(0);
  EXPECT_EQ((*curve.slopes)[0].n, 1);
  EXPECT_NEAR((*curve.slopes)[0].mean, -10, kExact);
  EXPECT_EQ(curve.points[0].scores[0].n, 2);
  EXPECT_EQ(curve.points[2].scores[0].n, 2);
  EXPECT_EQ((*curve.points[2].losses)[0].n, 1);  // only item 0 has the baseline too
  EXPECT_EQ(made.samples.samples().size(), 3u);
}

TEST_F(StressTable, SlopesOverStepsArePerHalving) {
  order_.levels.clear();
  add_levels("steps=16,4");
  results_ = {result("a", "steps=16", 0, 1), result("a", "steps=4", 0, 0)};
  const StressResult made = make_stress_result(results_, order_);
  EXPECT_NEAR((*made.curves.at(0).slopes)[0].mean, -50, kExact);  // 100 points over two halvings
  EXPECT_EQ(made.curves[0].points[0].level.text, "16");
}

TEST_F(StressTable, ACategoricalStressorHasNoSlope) {
  order_.levels.clear();
  add_levels("query-place");
  results_ = {result("a", "query-place=after", 0, 1), result("a", "query-place=before", 0, 0)};
  const StressResult made = make_stress_result(results_, order_);
  EXPECT_FALSE(made.curves.at(0).slopes);
  EXPECT_NEAR((*made.curves[0].points[1].losses)[0].mean, 100, kExact);
}

TEST_F(StressTable, StaleIsTheOldAnswerAfterAChange) {
  order_.levels.clear();
  add_levels("collection");
  for (Index item = 0; item < 4; ++item) {
    results_.push_back(result("a", "collection=as-is", item, 1, "old"));
    results_.push_back(
        result("a", "collection=changed", item, item == 0 ? 1 : 0, item == 1 ? "The Old!" : "new"));
    results_.push_back(result("a", "collection=deleted", item, 0, item < 3 ? "old" : "I do not know"));
  }
  const StressResult made = make_stress_result(results_, order_);
  const std::vector<StressPoint>& points = made.curves.at(0).points;
  ASSERT_EQ(points.size(), 3u);  // nothing was added
  EXPECT_FALSE(points[0].stale);
  EXPECT_NEAR(points[1].stale->mean, 25, kExact);
  EXPECT_EQ(points[1].stale->n, 4);
  EXPECT_NEAR(points[2].stale->mean, 75, kExact);
  EXPECT_NE(stress_text(made).find("Stale answers"), std::string::npos);
}

TEST_F(StressTable, ModelsArePairedByItem) {
  add_item("a", 0, {1, 1, 1});
  add_item("a", 1, {1, 1, 1});
  add_item("b", 0, {1, 1, 0});
  add_item("b", 1, {1, 0, 0});
  const StressResult made = make_stress_result(results_, order_);
  ASSERT_EQ(made.curves.size(), 2u);
  EXPECT_EQ(made.curves[0].model, "a");
  EXPECT_EQ(made.curves[1].model, "b");
  ASSERT_EQ(made.differences.size(), 1u);
  const auto& summaries = made.differences[0].summaries;
  const auto slope = std::ranges::find(summaries, "em_slope", &Summary::quantity);
  ASSERT_NE(slope, summaries.end());
  EXPECT_NEAR(slope->mean, 10, kExact);  // 0 against −10
  EXPECT_EQ(slope->n, 2);
}

TEST_F(StressTable, AnInterventionIsComparedWithTheModelItselfAndWithItsControl) {
  order_.models = {"a", "a + pin", "a + random"};
  order_.interventions = {{"a", "pin", "random"}, {"a", "random", ""}};
  for (const Index item : {0, 1}) {
    add_item("a", item, {1, 1, 1});              // loses nothing
    add_item("a + pin", item, {1, 1, 0});        // loses all at the last level
    add_item("a + random", item, {1, 1, 0.25});  // loses three quarters
  }
  const StressResult made = make_stress_result(results_, order_);
  ASSERT_EQ(made.intervened.size(), 3u) << "pin against none and random, random against none";
  const auto lost_more = [&](std::size_t which) {
    const auto& all = made.intervened[which].summaries;
    const auto found = std::ranges::find_if(all, [&](const Summary& s) {
      return s.quantity == "em_loss" && s.part == order_.levels.back().name();
    });
    EXPECT_NE(found, all.end());
    return found->mean;
  };
  EXPECT_EQ(made.intervened[0].against, "");
  EXPECT_NEAR(lost_more(0), 100, kExact);
  EXPECT_EQ(made.intervened[1].against, "random");
  EXPECT_NEAR(lost_more(1), 25, kExact);
  EXPECT_EQ(made.intervened[2].intervention, "random");
  EXPECT_NEAR(lost_more(2), 75, kExact);
  const std::string level = order_.levels.back().text, csv = intervened_csv(made);
  EXPECT_NE(csv.find("irrelevant,set,a,pin,random," + level + ",em_loss,2,25,25,25\n"), std::string::npos)
      << csv;
  EXPECT_NE(csv.find("irrelevant,set,a,pin,none," + level + ",em,2,-100,-100,-100\n"), std::string::npos)
      << csv;
  EXPECT_NE(csv.find("irrelevant,set,a,pin,none,,em_slope,"), std::string::npos) << csv;
  EXPECT_NE(stress_text(made).find("Under interventions"), std::string::npos);
}

TEST_F(StressTable, IsWrittenWithEveryNumber) {
  add_item("a", 0, {1, 0.5, 0});
  add_item("b", 0, {1, 1, 1});
  const StressResult made = make_stress_result(results_, order_);
  const std::string csv = stress_csv(made);
  // A head; for each model 3 levels of 3 scores, 2 of 3 losses, 3 slopes.
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 2 * (9 + 6 + 3));
  EXPECT_NE(csv.find("irrelevant,set,a,0.5,em_loss,1,50,50,50\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("irrelevant,set,a,,em_slope,1,-10,-10,-10\n"), std::string::npos) << csv;
  const std::string robustness = robustness_csv(made);
  EXPECT_EQ(std::ranges::count(robustness, '\n'), 1 + 2 * 3);
  const auto fields = [&](std::size_t begin) {
    const std::string line = robustness.substr(begin, robustness.find('\n', begin) - begin);
    return std::ranges::count(line, ',');
  };
  EXPECT_EQ(fields(0), fields(robustness.find('\n') + 1));
  EXPECT_NE(
      robustness.find("irrelevant,set,b,em,0,1,100,100,100,0.5,1,100,100,100,1,0,0,0,1,0,0,0,1,-10,-10,-10,"
                      "points per 10 % of the passages"),
      std::string::npos)
      << robustness;
  const std::string text = stress_text(made);
  EXPECT_NE(text.find("+100.0 [+100.0, +100.0]  -10.0 [-10.0, -10.0]"), std::string::npos) << text;
}

TEST_F(StressTable, SaysWhereNoLevelChangedThePrompt) {
  add_item("a", 0, {1, 1, 1});
  add_item("a", 1, {1, 0, 0});
  for (SampleResult& r : results_) r.prompt = r.number == 0 ? "the same" : "with " + r.key.condition;
  const SampleTable samples = stress_samples(results_, order_);
  const auto marked = samples.columns().find({.quantity = "same_prompt", .part = "irrelevant"});
  ASSERT_NE(marked, samples.columns().end());
  ASSERT_EQ(marked->second.samples.size(), 1u);
  EXPECT_EQ(samples.samples()[static_cast<std::size_t>(marked->second.samples[0])].sample, "item-0");
}

}  // namespace
}  // namespace buoy
