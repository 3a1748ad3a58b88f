// Tables over samples: what is summarised, what is compared, what is written out.
#include "buoy/analysis/sample_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/analysis/test_support.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

Measurement plain(const char* quantity, double value, Index head = -1) {
  return {.quantity = quantity, .layer = 0, .head = head, .value = value};
}

SampleKey key(const char* model, std::string sample, const char* task = "t") {
  return {.model = model, .data = "d", .task = task, .sample = std::move(sample)};
}

bool same(const Summary& a, const Summary& b) {
  return a.quantity == b.quantity && a.layer == b.layer && a.head == b.head && a.part == b.part &&
         a.n == b.n && a.questions == b.questions && a.mean == b.mean && a.std == b.std && a.lo == b.lo &&
         a.hi == b.hi && a.null == b.null;
}

TEST(SampleTable, MeansCountOnlySamplesThatHaveTheQuantity) {
  SampleTable table;
  table.add(key("m", "1"), Measurements{plain("x", 1), plain("y", 5)});
  table.add(key("m", "2"), Measurements{plain("x", 3)});
  const auto found = table.summaries({});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].quantity, "x");
  EXPECT_EQ(found[0].n, 2);
  EXPECT_EQ(found[0].mean, 2);
  EXPECT_NEAR(found[0].std, std::sqrt(2), 1e-12);
  EXPECT_NEAR(*found[0].lo, 2 - std::sqrt(3), 1e-12) << "t is ±√2 where a sample is drawn twice, error √1.5";
  EXPECT_NEAR(*found[0].hi, 2 + std::sqrt(3), 1e-12);
  EXPECT_EQ(found[0].questions, 2);
  EXPECT_EQ(found[1].n, 1);
  EXPECT_EQ(found[1].mean, 5);
  EXPECT_EQ(*found[1].lo, 5) << "one sample: no width";
  EXPECT_EQ(*found[1].hi, 5);
  EXPECT_EQ(found[1].std, 0);
}

TEST(SampleTable, RatiosOfSumsUseTheirWeights) {
  SampleTable table;
  table.add(key("m", "1"), Measurements{{.quantity = "r", .value = 1, .weight = 1}});
  table.add(key("m", "2"), Measurements{{.quantity = "r", .value = 1, .weight = 3}});
  EXPECT_NEAR(table.summaries({})[0].mean, 0.5, 1e-12);
}

TEST(SampleTable, NullsAreAveragedOverSamplesThatHaveOne) {
  SampleTable table;
  const auto with_null = [](std::optional<double> null) {
    return Measurements{{.quantity = "x", .value = 1, .null = null}};
  };
  table.add(key("m", "1"), with_null({}));
  table.add(key("m", "2"), with_null(2));
  table.add(key("m", "3"), with_null(4));
  table.add(key("m", "4"), Measurements{plain("z", 1)});
  const auto found = table.summaries({});
  EXPECT_EQ(found[0].null, 3);
  EXPECT_FALSE(found[1].null);
}

TEST(SampleTable, GroupsAreChosenByModelDataAndTask) {
  SampleTable table;
  table.add(key("a", "1", "t"), Measurements{plain("x", 1)});
  table.add(key("a", "1", "u"), Measurements{plain("x", 2)});
  table.add(key("b", "1", "t"), Measurements{plain("x", 6)});
  EXPECT_EQ(table.summaries({})[0].mean, 3);
  EXPECT_EQ(table.summaries({.model = "a"})[0].mean, 1.5);
  EXPECT_EQ(table.summaries({.task = "t"})[0].mean, 3.5);
  EXPECT_EQ(table.summaries({.model = "a", .task = "u"})[0].mean, 2);
  EXPECT_TRUE(table.summaries({.data = "elsewhere"}).empty());
}

TEST(SampleTable, ResultsDoNotDependOnTheOrderOfSamplesOrColumns) {
  SampleTable forward, backward;
  for (Index i = 0; i < 12; ++i) {
    const auto x = [](Index k) { return plain("x", draw(1, static_cast<std::uint64_t>(k))); };
    const auto y = [](Index k) { return plain("y", draw(2, static_cast<std::uint64_t>(k))); };
    forward.add(key("m", std::to_string(i)), Measurements{x(i), y(i)});
    backward.add(key("m", std::to_string(11 - i)), Measurements{y(11 - i)});
    backward.add(key("m", std::to_string(11 - i)), Measurements{x(11 - i)});
  }
  const auto a = forward.summaries({}), b = backward.summaries({});
  ASSERT_EQ(a.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(a, b, same));
}

TEST(SampleTable, IntervalsOfHeadsCanBeLeftOut) {
  SampleTable table;
  table.add(key("m", "1"), Measurements{plain("x", 1), plain("x", 1, 0)});
  const auto found = table.summaries({}, Intervals::kNotPerHead);
  EXPECT_TRUE(found[0].lo && found[0].hi);
  EXPECT_FALSE(found[1].lo || found[1].hi);
  EXPECT_TRUE(table.summaries({})[1].lo);
}

TEST(SampleTable, RefusesNumbersGivenTwiceAndNumbersThatAreNone) {
  SampleTable table;
  table.add(key("m", "1"), Measurements{plain("x", 1)});
  table.add(key("m", "2"), Measurements{plain("x", 1)});
  EXPECT_THROW(table.add(key("m", "1"), Measurements{plain("x", 1)}), Error);
  EXPECT_THROW(table.add(key("m", "3"), Measurements{plain("x", std::nan(""))}), Error);
  EXPECT_THROW(table.add(key("m", "3"), Measurements{{.quantity = "x", .value = 1, .weight = 0}}), Error);
}

TEST(PairedDifferences, AreOverSamplesThatBothModelsHave) {
  SampleTable table;
  for (Index i = 0; i < 10; ++i) {  // wide apart from sample to sample, always 0.5 apart between models
    const double level = 100 * draw(3, static_cast<std::uint64_t>(i));
    table.add(key("a", std::to_string(i)), Measurements{plain("x", level + 0.5)});
    table.add(key("b", std::to_string(i)), Measurements{plain("x", level), plain("only b", 1)});
  }
  table.add(key("a", "alone"), Measurements{plain("x", 1e6)});
  table.add(key("a", "without"), Measurements{plain("x", 1e6)});
  table.add(key("b", "without"), Measurements{plain("y", 1)});
  const auto found = paired_differences(table, {.a = "a", .b = "b"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].n, 10);
  EXPECT_NEAR(found[0].mean, 0.5, 1e-9);
  EXPECT_NEAR(found[0].std, 0, 1e-9);
  EXPECT_NEAR(*found[0].lo, 0.5, 1e-9);
  EXPECT_NEAR(*found[0].hi, 0.5, 1e-9);
}

TEST(PairedDifferences, SamplesOfOtherTasksAreNotMatched) {
  SampleTable table;
  table.add(key("a", "1", "t"), Measurements{plain("x", 1)});
  table.add(key("b", "1", "u"), Measurements{plain("x", 2)});
  EXPECT_TRUE(paired_differences(table, {.a = "a", .b = "b"}).empty());
}

TEST(PairedDifferences, NullIsTheDifferenceOfTheNulls) {
  SampleTable table;
  table.add(key("a", "1"), Measurements{{.quantity = "x", .value = 1, .null = 0.75}});
  table.add(key("b", "1"), Measurements{{.quantity = "x", .value = 2, .null = 0.25}});
  const auto found = paired_differences(table, {.a = "a", .b = "b"});
  EXPECT_EQ(found[0].mean, -1);
  EXPECT_EQ(found[0].null, 0.5);
}

TEST(Csv, FieldsAreQuotedWhereTheyMust) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field(""), "");
}

TEST(Csv, SummariesStandOneToALine) {
  const GroupSummaries group{
      .group = {.model = "m,1", .task = ""},
      .summaries = {{.quantity = "x",
                     .layer = 2,
                     .part = "all",
                     .n = 3,
                     .questions = 2,
                     .mean = 1.0 / 3,
                     .std = 0.5,
                     .lo = 0,
                     .hi = 1,
                     .null = 0.25},
                    {.quantity = "y", .head = 4, .n = 1, .questions = 1, .mean = 12345678}}};
  EXPECT_EQ(summaries_csv(std::span(&group, 1)),
            "model,data,task,quantity,layer,head,part,n,questions,mean,std,lo,hi,null\n"
            "\"m,1\",*,,x,2,-1,all,3,2,0.333333333,0.5,0,1,0.25\n"
            "\"m,1\",*,,y,-1,4,,1,1,12345678,0,,,\n");
}

TEST(Csv, SamplesStandOneNumberToALine) {
  SampleTable table;
  table.add(key("m", "s\"1"),
            Measurements{{.quantity = "x", .layer = 1, .part = "p", .value = 0.5, .null = 2}});
  table.add(key("m", "s2"),
            Measurements{{.quantity = "x", .layer = 1, .part = "p", .value = 3, .weight = 4}});
  EXPECT_EQ(samples_csv(table),
            "model,data,task,sample,quantity,layer,head,part,value,weight,null\n"
            "m,d,t,\"s\"\"1\",x,1,-1,p,0.5,1,2\n"
            "m,d,t,s2,x,1,-1,p,3,4,\n");
}

TEST(DifferenceEstimate, ResamplesBothTogether) {
  SampleTable table;
  for (Index i = 0; i < 9; ++i) {
    const double level = static_cast<double>(i * i);
    table.add(key("m", fmt::to_string(i)), Measurements{plain("x", level + 3), plain("y", level)});
  }
  const ColumnKey x{.quantity = "x", .layer = 0}, y{.quantity = "y", .layer = 0};
  const auto found = difference_estimate(table, {}, x, y);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->n, 9);
  EXPECT_NEAR(found->mean, 3, 1e-12);
  EXPECT_NEAR(found->bootstrap.interval().lo, 3, 1e-9) << "what both share drops out";
  EXPECT_NEAR(found->bootstrap.interval().hi, 3, 1e-9);
  EXPECT_FALSE(difference_estimate(table, {}, x, {.quantity = "z"}));
  EXPECT_FALSE(difference_estimate(table, {.model = "other"}, x, y));
}

TEST(DifferenceEstimate, TakesEachOverTheSamplesThatHaveIt) {
  SampleTable table;
  table.add(key("m", "1"), Measurements{plain("x", 1)});
  table.add(key("m", "2"), Measurements{plain("x", 3)});
  table.add(key("m", "3"), Measurements{plain("y", 10)});
  const auto found =
      difference_estimate(table, {}, {.quantity = "x", .layer = 0}, {.quantity = "y", .layer = 0});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->n, 1);
  EXPECT_EQ(found->questions, 1);
  EXPECT_EQ(found->mean, -8);
}

// `places` samples of each of `count` questions, all of a question alike.
SampleTable asked_in_places(Index count, Index places, bool named) {
  SampleTable table;
  for (Index q = 0; q < count; ++q) {
    for (Index place = 0; place < places; ++place) {
      SampleKey at{
          .model = "m", .data = fmt::format("gold at {}", place), .task = "t", .sample = fmt::to_string(q)};
      if (named) at.question = fmt::format("question {}?", q);
      table.add(at, Measurements{plain("x", draw(5, static_cast<std::uint64_t>(q)))});
    }
  }
  return table;
}

TEST(SampleTable, AQuestionAskedInThreePlacesIsOneUnit) {
  const Summary once = asked_in_places(20, 1, true).summaries({})[0];
  const Summary thrice = asked_in_places(20, 3, true).summaries({})[0];
  EXPECT_EQ(thrice.n, 60);
  EXPECT_EQ(thrice.questions, 20);
  EXPECT_NEAR(*thrice.lo, *once.lo, 1e-9) << "asking again the same way teaches nothing";
  EXPECT_NEAR(*thrice.hi, *once.hi, 1e-9);
  const Summary unnamed = asked_in_places(20, 3, false).summaries({})[0];
  EXPECT_EQ(unnamed.questions, 60);
  EXPECT_NEAR((*unnamed.hi - *unnamed.lo) / (*once.hi - *once.lo), 1 / std::sqrt(3), 0.06);
}

TEST(PairedDifferences, AQuestionIsOneUnitThereToo) {
  SampleTable table;
  for (Index q = 0; q < 12; ++q) {
    for (const char* data : {"gold at 1", "gold at 5"}) {
      const SampleKey a{.model = "a",
                        .data = data,
                        .task = "t",
                        .sample = fmt::to_string(q),
                        .question = fmt::format("{}?", q)};
      SampleKey b = a;
      b.model = "b";
      table.add(a, Measurements{plain("x", draw(6, static_cast<std::uint64_t>(q)))});
      table.add(b, Measurements{plain("x", 0)});
    }
  }
  const Summary found = paired_differences(table, {.a = "a", .b = "b"}).at(0);
  EXPECT_EQ(found.n, 24);
  EXPECT_EQ(found.questions, 12);
  const Summary once = paired_differences(table, {.a = "a", .b = "b", .data = "gold at 1"}).at(0);
  EXPECT_NEAR(*found.lo, *once.lo, 1e-9);
}

}  // namespace
}  // namespace buoy
