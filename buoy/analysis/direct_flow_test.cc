// Direct flow: rows that wrote the answer, with masses on regions that were set by hand.
#include "buoy/analysis/direct_flow.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "buoy/analysis/null_model.h"
#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

// Regions of the default shape: BOS, Template, Query, Doc1 (4), Doc2 (4, gold), Doc3 (5), Answer, Tail. The
// answer is three tokens and EOS.
constexpr Index kQuery = 2, kDoc1 = 3, kDoc2 = 4, kDoc3 = 5, kAnswer = 6;

// With uniform attention of every row that wrote.
Trace written(const TraceShape& shape = {}) {
  Trace trace = uniform_trace(shape);
  trace.answer.region_mass.assign(trace.G() * trace.L() * trace.R(), 1);  // any: the null fills it
  return null_trace(trace);
}

struct Into {
  Index region;
  double mass;
};

// All that is not named goes to Answer.
void set_mass(Trace& trace, Index g, Index l, std::vector<Into> masses) {
  float* row = trace.answer.region_mass.data() + (g * trace.L() + l) * trace.R();
  std::fill(row, row + trace.R(), 0.0F);
  double rest = 1;
  for (const Into& into : masses) {
    row[into.region] = static_cast<float>(into.mass);
    rest -= into.mass;
  }
  row[kAnswer] += static_cast<float>(rest);
}

double value(const Trace& trace, const char* quantity, std::string_view part = "", Index layer = -1) {
  return value_of(direct_flow(trace), {.quantity = quantity, .layer = layer, .part = part});
}

bool has(const Trace& trace, const char* quantity, Index layer = -1) {
  return look_up(direct_flow(trace), {.quantity = quantity, .layer = layer}) != nullptr;
}

TEST(DirectFlow, IsTheMeanOverTheAnswersRowsPerTokenOfThePassage) {
  Trace trace = written();
  set_mass(trace, 0, 1, {{kDoc1, 0.1}, {kDoc2, 0.4}, {kDoc3, 0.2}});
  set_mass(trace, 1, 1, {{kDoc1, 0.2}, {kDoc2, 0.5}, {kDoc3, 0.1}});
  set_mass(trace, 2, 1, {{kDoc1, 0.3}, {kDoc2, 0.3}, {kDoc3, 0.3}});
  set_mass(trace, 3, 1, {{kDoc1, 1}});  // EOS
  set_mass(trace, 4, 1, {{kDoc1, 1}});  // the tail
  EXPECT_NEAR(value(trace, "direct_per_token", "Answer>Doc1", 2), 0.2 / 4, 1e-7);
  EXPECT_NEAR(value(trace, "direct_per_token", "Answer>Doc2", 2), 0.4 / 4, 1e-7);
  EXPECT_NEAR(value(trace, "direct_per_token", "Answer>Doc3", 2), 0.2 / 5, 1e-7);
  EXPECT_NEAR(value(trace, "direct_passages", "gold", 2), 0.1, 1e-7);
  EXPECT_NEAR(value(trace, "direct_passages", "other", 2), (0.05 + 0.04) / 2, 1e-7);
  EXPECT_NEAR(value(trace, "direct_gold_lift", "", 2), 0.1 / 0.045, 1e-5);
  EXPECT_NEAR(value(trace, "direct_gold_log", "", 2), std::log(0.1 / 0.045), 1e-5);
}

TEST(DirectFlow, LiftOfUniformAttentionIsOneWithAnyMaskAndPlace) {
  for (const Mask mask : {Mask::kFull, Mask::kCausal}) {
    for (const Index gold : {1, 2, 3}) {
      const Trace trace = written({.mask = mask, .gold = gold});
      for (const Index layer : {0, 2, 4}) EXPECT_NEAR(value(trace, "direct_gold_lift", "", layer), 1, 1e-5);
      EXPECT_EQ(has(trace, "near_far"), gold == 2) << "gold leaves nothing of its third";
      if (gold == 2) {
        EXPECT_NEAR(value(trace, "near_far"), 0, 1e-5);
      }
    }
  }
}

TEST(DirectFlow, RowsThatNeverWroteDoNotCount) {
  Trace trace = written({.L = 1});
  for (Index g = 0; g < 3; ++g) set_mass(trace, g, 0, {{kDoc2, 0.4}});
  set_mass(trace, 1, 0, {{kDoc2, 1}});
  trace.answer.rows[1] = -1;
  EXPECT_NEAR(value(trace, "direct_per_token", "Answer>Doc2", 0), 0.1, 1e-7);
}

TEST(DirectFlow, NeedsTheMassesAndAnAnswer) {
  Trace trace = written();
  trace.answer.region_mass.clear();
  EXPECT_TRUE(direct_flow(trace).empty());
  Trace silent = written();
  for (Index& row : silent.answer.rows) row = -1;
  EXPECT_TRUE(direct_flow(silent).empty());
}

TEST(DirectFlow, WithoutGoldThereAreOtherPassagesOnly) {
  const Measurements found = direct_flow(written({.gold = 0}));
  EXPECT_TRUE(look_up(found, {.quantity = "direct_passages", .layer = 0, .part = "other"}));
  EXPECT_FALSE(look_up(found, {.quantity = "direct_passages", .layer = 0, .part = "gold"}));
  EXPECT_FALSE(look_up(found, {.quantity = "direct_gold_lift", .layer = 0}));
}

TEST(QuestionTrend, IsTheSlopeFromTheFirstWritingStepToTheLast) {
  Trace trace = written({.L = 2});
  trace.commit_step = {2, 3, 6, 9, 9, 9};  // EOS at 9 is no token of the answer
  const double at_zero = 0.6, at_one = 0.2;
  for (Index g = 0; g < 3; ++g) {
    const double x = static_cast<double>(trace.commit_step[g] - 2) / 4, y = at_zero + x * (at_one - at_zero);
    set_mass(trace, g, 0, {{kQuery, y + 0.1}});
    set_mass(trace, g, 1, {{kQuery, y - 0.1}});
  }
  EXPECT_NEAR(value(trace, "question_trend"), at_one - at_zero, 1e-6);
  trace.commit_step[1] = 2;
  EXPECT_FALSE(has(trace, "question_trend")) << "two steps only";
}

TEST(QuestionTrend, OfUniformAttentionOfAMaskedModelIsZero) {
  Trace trace = written();
  trace.commit_step = {0, 1, 2, 3, 3, 3};
  EXPECT_NEAR(value(trace, "question_trend"), 0, 1e-6);
}

TEST(NearFar, ComparesTheLastThirdOfThePlacesWithTheFirstPerToken) {
  Trace trace = written({.L = 2});
  for (Index g = 0; g < 3; ++g) {
    set_mass(trace, g, 0, {{kDoc1, 0.1}, {kDoc3, 0.5}});   // per token 0.025 and 0.1
    set_mass(trace, g, 1, {{kDoc1, 0.2}, {kDoc3, 0.25}});  // equal
  }
  EXPECT_NEAR(value(trace, "near_far"), std::log(4.0) / 2, 1e-6);
}

TEST(NearFar, LeavesGoldOut) {
  Trace trace = written({.N = 42, .L = 1, .documents = 6, .gold = 6});
  for (Index g = 0; g < 3; ++g) {
    float* row = trace.answer.region_mass.data() + g * trace.R();
    row[8] += 0.3F;  // Doc6
  }
  EXPECT_NEAR(value(trace, "near_far"), 0, 1e-5);
  EXPECT_GT(value(trace, "direct_gold_lift", "", 0), 1.5);
}

}  // namespace
}  // namespace buoy
