// The figure of speed against closeness: which points are on the front, and what intervals may not say.
#include "buoy/report/audit_pareto.h"

#include <gtest/gtest.h>

namespace buoy {
namespace {

ParetoPoint point(const std::string& name, double speed, double closeness) {
  ParetoPoint made{.name = name, .speed = {}, .closeness = {}};
  made.speed.mean = speed;
  made.speed.lo = speed - 3;
  made.speed.hi = speed + 1;
  made.closeness.mean = closeness;
  made.closeness.lo = closeness - 10;
  made.closeness.hi = closeness + 10;
  return made;
}

const std::vector<ParetoPoint> kPoints = {point("slow", 2, 97), point("beaten", 2.5, 90),
                                          point("fast", 4, 95)};

TEST(Pareto, TheFrontGoesFromTheExactRunThroughWhatNothingBeats) {
  const CurvePanel panel = pareto_panel({.title = "equal", .exact = 100, .most = 100}, kPoints);
  const Series& front = panel.series.front();
  EXPECT_TRUE(front.name.empty());
  EXPECT_EQ(front.x, (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(front.y, (std::vector<double>{100, 97, 95}));
}

TEST(Pareto, NothingIsAboveTheMostOrSlowerThanNothing) {
  const CurvePanel panel = pareto_panel({.title = "equal", .exact = 100, .most = 100}, kPoints);
  for (const Series& s : panel.series) {
    for (const double high : s.high) EXPECT_LE(high, 100) << s.name;
    for (const double x : s.x) EXPECT_GE(x, 0) << s.name;
  }
  ASSERT_TRUE(panel.y_range);
  EXPECT_LT(panel.y_range->high, 101);
  EXPECT_GT(panel.y_range->high, 100) << "the dot at the top is whole";
}

TEST(Pareto, AChangeMayBeAGain) {
  const CurvePanel panel = pareto_panel({.title = "change", .exact = 0, .most = {}}, {point("c", 2, 1)});
  EXPECT_EQ(panel.series.front().x, (std::vector<double>{2})) << "better on both axes than the exact run";
  EXPECT_GE(panel.y_range->high, 11);
}

TEST(Pareto, WithoutPointsThereIsNoSeries) {
  EXPECT_TRUE(pareto_panel({.title = "equal", .exact = 100, .most = 100}, {}).series.empty());
}

}  // namespace
}  // namespace buoy
