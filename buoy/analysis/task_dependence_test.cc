// Anchor profiles, their divergence, and whether the permutation test keeps its promise.
#include "buoy/analysis/task_dependence.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

TEST(Profile, SaysWhereAnchorsStand) {
  Trace trace = uniform_trace();
  spike_finished(trace, {7}, 0.4);
  const Measurements found = profile(trace, {});
  EXPECT_EQ(std::ssize(found), kRegionKindCount * kTokenClassCount);
  EXPECT_NEAR(value_of(found, {.quantity = "anchor_profile", .part = "document/content"}), 1, 1e-6);
  EXPECT_EQ(value_of(found, {.quantity = "anchor_profile", .part = "bos/bos"}), 0);
}

TEST(Profile, LayersCountByTheirAnchorMass) {
  Trace trace = uniform_trace({.L = 2});
  for (Index h = 0; h < trace.H(); ++h) {
    spike(trace.finished.received, h, trace.N(), {0}, 0.25);
    spike(trace.finished.received, trace.H() + h, trace.N(), {6}, 0.5);
  }
  const double bos = 0.25 + 0.75 / 24, document = 0.5 + 0.5 / 24;
  const Measurements found = profile(trace, {});
  EXPECT_NEAR(value_of(found, {.quantity = "anchor_profile", .part = "bos/bos"}), bos / (bos + document),
              1e-6);
  EXPECT_NEAR(value_of(found, {.quantity = "anchor_profile", .part = "document/punctuation"}),
              document / (bos + document), 1e-6);
}

TEST(Profile, WithoutAnchorsThereIsNone) {
  EXPECT_TRUE(profile(uniform_trace(), {}).empty());
}

TEST(JensenShannon, HasItsClosedForms) {
  const std::vector<double> p = {0.5, 0.5, 0, 0}, q = {0, 0, 0.25, 0.75}, r = {1, 0, 0, 0};
  EXPECT_EQ(jensen_shannon(p, p), 0);
  EXPECT_NEAR(jensen_shannon(p, q), std::log(2), 1e-15);
  const double by_hand = 0.5 * (0.5 * std::log(0.5 / 0.75) + 0.5 * std::log(2)) + 0.5 * std::log(1 / 0.75);
  EXPECT_NEAR(jensen_shannon(p, r), by_hand, 1e-15);
  EXPECT_NEAR(jensen_shannon(r, p), by_hand, 1e-15);
}

// Profiles of three cells around (1 + tilt, 1, 1), at random.
TaskProfiles random_task(const char* task, std::uint32_t stream, double tilt) {
  TaskProfiles out{.task = task};
  for (std::uint64_t i = 0; i < 8; ++i) {
    std::vector<double> cells = {draw(stream, 3 * i) + tilt, draw(stream, 3 * i + 1),
                                 draw(stream, 3 * i + 2)};
    const double total = std::accumulate(cells.begin(), cells.end(), 0.0);
    for (double& cell : cells) cell /= total;
    out.samples.push_back(cells);
  }
  return out;
}

TEST(TaskDependence, PValueIsSpreadEvenlyWhenTasksDoNotDiffer) {
  constexpr std::uint32_t kRuns = 24;
  double mean = 0;
  int small = 0;
  for (std::uint32_t run = 0; run < kRuns; ++run) {
    const TaskProfiles tasks[] = {random_task("a", 2 * run, 0), random_task("b", 2 * run + 1, 0)};
    const double p = task_dependence(tasks)[0].p;
    mean += p / kRuns;
    small += p < 0.1 ? 1 : 0;
  }
  EXPECT_GT(mean, 0.5 - 0.18);  // three standard errors of a uniform p
  EXPECT_LT(mean, 0.5 + 0.18);
  EXPECT_LE(small, 7);
}

TEST(TaskDependence, PValueIsSmallWhenTasksDiffer) {
  const TaskProfiles tasks[] = {random_task("a", 1, 0), random_task("b", 2, 5), random_task("c", 3, 0)};
  const auto found = task_dependence(tasks);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].a + found[0].b + found[1].b + found[2].a, "abcb");
  EXPECT_EQ(found[0].n_a, 8);
  EXPECT_LT(found[0].p, 0.005);
  EXPECT_LT(found[2].p, 0.005);
  EXPECT_GT(found[0].divergence, 5 * found[1].divergence);
}

TEST(TaskDependence, PCountsTheSamplesAsTheyAreAmongThePermutations) {
  // Twelve samples against twelve that share no cell: one deal in 2.7 million is as far apart, so that none
  // of the thousand is, and p is 1 ÷ 1001, never 0.
  const std::vector<double> here = {1, 0}, there = {0, 1};
  const TaskProfiles apart[] = {{"a", std::vector(12, here)}, {"b", std::vector(12, there)}};
  EXPECT_DOUBLE_EQ(task_dependence(apart)[0].p, 1.0 / 1001);
  EXPECT_NEAR(task_dependence(apart)[0].divergence, std::log(2), 1e-12);
  // Two against two: of the six deals two are as far apart, so a third of the thousand is, give or take.
  const TaskProfiles few[] = {{"a", {here, here}}, {"b", {there, there}}};
  const double p = task_dependence(few)[0].p;
  EXPECT_NEAR(p, 1.0 / 3, 0.045);  // three standard errors
  const double count = p * 1001 - 1;
  EXPECT_NEAR(count, std::round(count), 1e-9) << "a whole number of permutations";
}

TEST(TaskDependence, EqualSamplesAreNeverFurtherApart) {
  const std::vector<double> same = {0.2, 0.8};
  const TaskProfiles tasks[] = {{"a", {same, same}}, {"b", {same, same, same}}};
  const auto found = task_dependence(tasks);
  EXPECT_NEAR(found[0].divergence, 0, 1e-15);
  EXPECT_EQ(found[0].p, 1);
}

TEST(TaskDependence, ProfilesComeOutOfTheTableByTask) {
  SampleTable table;
  const auto cells = [](double bos) {
    return Measurements{{.quantity = "anchor_profile", .part = "bos/bos", .value = bos},
                        {.quantity = "anchor_profile", .part = "query/content", .value = 1 - bos},
                        {.quantity = "other", .value = 3}};
  };
  table.add({.model = "m", .task = "two", .sample = "1"}, cells(0.25));
  table.add({.model = "m", .task = "one", .sample = "1"}, cells(1));
  table.add({.model = "m", .task = "two", .sample = "2"}, cells(0.5));
  table.add({.model = "m", .task = "none", .sample = "1"}, Measurements{{.quantity = "other", .value = 1}});
  table.add({.model = "else", .task = "two", .sample = "1"}, cells(0));
  const auto found = task_profiles(table, {.model = "m"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].task, "one");
  EXPECT_EQ(found[1].samples, (std::vector<std::vector<double>>{{0.25, 0.75}, {0.5, 0.5}}));
}

// One sample of a model with a profile over two cells.
struct Profiled {
  const char *task, *sample, *question;
  double first;
};

SampleTable table_of(std::span<const Profiled> samples) {
  SampleTable table;
  for (const Profiled& s : samples) {
    const Measurements cells = {
        {.quantity = "anchor_profile", .part = "bos/bos", .value = s.first},
        {.quantity = "anchor_profile", .part = "query/content", .value = 1 - s.first}};
    table.add({.model = "m", .task = s.task, .sample = s.sample, .question = s.question}, cells);
  }
  return table;
}

std::optional<double> contrast_of(const SampleTable& table, const Group& group = {}) {
  const auto found = estimate(table, group, {.quantity = "task_contrast"});
  return found ? std::optional(found->mean) : std::nullopt;
}

TEST(TaskContrast, IsDistanceFromOtherTasksMinusThatFromTheOwn) {
  const Profiled samples[] = {{"a", "1", "", 1}, {"a", "2", "", 0.5}, {"b", "3", "", 0}, {"b", "4", "", 0.5}};
  SampleTable table = table_of(samples);
  add_task_contrast(table);
  const std::vector<double> whole = {1, 0}, half = {0.5, 0.5}, none = {0, 1}, quarter = {0.25, 0.75},
                            three = {0.75, 0.25};
  const double first = jensen_shannon(whole, quarter) - jensen_shannon(whole, half);
  const double second = jensen_shannon(half, quarter) - jensen_shannon(half, whole);
  EXPECT_NEAR(*contrast_of(table, {.task = "a"}), (first + second) / 2, 1e-12);
  const double third = jensen_shannon(none, three) - jensen_shannon(none, half);
  const double fourth = jensen_shannon(half, three) - jensen_shannon(half, none);
  EXPECT_NEAR(*contrast_of(table, {.task = "b"}), (third + fourth) / 2, 1e-12);
}

TEST(TaskContrast, LeavesOutSamplesOfTheSameQuestion) {
  // Each question at two places: equal profiles, which say nothing of the task.
  const Profiled samples[] = {{"a", "1", "q", 1}, {"a", "2", "q", 1}, {"b", "3", "r", 0}, {"b", "4", "r", 0}};
  SampleTable table = table_of(samples);
  add_task_contrast(table);
  EXPECT_FALSE(contrast_of(table)) << "nothing else of its own task is left";
}

TEST(TaskContrast, ComparesWithinAModelOnly) {
  const Profiled samples[] = {{"a", "1", "", 1}, {"a", "2", "", 1}};
  SampleTable table = table_of(samples);
  const Measurements other = {{.quantity = "anchor_profile", .part = "bos/bos", .value = 0},
                              {.quantity = "anchor_profile", .part = "query/content", .value = 1}};
  table.add({.model = "n", .task = "b", .sample = "3"}, other);
  add_task_contrast(table);
  EXPECT_FALSE(contrast_of(table));
}

TEST(TaskContrast, FindsTasksThatDifferAndNothingInTasksThatDoNot) {
  for (const double tilt : {0.0, 2.0}) {
    SampleTable table;
    for (Index i = 0; i < 60; ++i) {
      std::vector<double> cells = {draw(3, 3 * i) + (i % 2 == 0 ? tilt : 0), draw(3, 3 * i + 1),
                                   draw(3, 3 * i + 2)};
      const double total = std::accumulate(cells.begin(), cells.end(), 0.0);
      Measurements profile;
      for (Index c = 0; c < 3; ++c)
        profile.push_back(
            {.quantity = "anchor_profile", .part = std::to_string(c), .value = cells[c] / total});
      table.add({.model = "m", .task = i % 2 == 0 ? "even" : "odd", .sample = std::to_string(i)}, profile);
    }
    add_task_contrast(table);
    const double found = *contrast_of(table);
    if (tilt > 0) {
      EXPECT_GT(found, 0.05);
    } else {
      EXPECT_LT(found, 0.005);
    }
  }
}

}  // namespace
}  // namespace buoy
