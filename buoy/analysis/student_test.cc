// Student's t against values from SciPy 1.10.
#include "buoy/analysis/student.h"

#include <vector>

#include <gtest/gtest.h>

namespace buoy {
namespace {

TEST(Student, QuantilesAreThoseOfTheTables) {
  const std::vector<std::pair<double, double>> known = {
      {1, 12.706204736432095}, {1.3, 7.500529335167913}, {2, 4.302652729911275},   {2.5, 3.5746548420118773},
      {3, 3.182446305284263},  {10, 2.2281388519649385}, {30, 2.0422724563012373}, {250, 1.9694983934204002}};
  for (const auto& [freedom, t] : known) EXPECT_NEAR(student_quantile(0.95, freedom), t, 1e-8) << freedom;
}

TEST(Student, OfOneDegreeIsCauchys) {
  // P(|T| ≤ t) = 2/π · arctan t.
  EXPECT_NEAR(student_within(1, 1), 0.5, 1e-14);
  EXPECT_NEAR(student_within(1e-6, 1), 2 / 3.141592653589793 * 1e-6, 1e-16);
  EXPECT_EQ(student_within(0, 5), 0);
}

TEST(TInterval, OfOneSideAndOfTwo) {
  const std::vector<double> a = {1.0, 2.5, 2.0}, b = {0.5, 0.1}, one = {0.5};
  const TInterval welch = t_interval(a, b);
  const TInterval beside_one = t_interval(a, one);
  EXPECT_NEAR(welch.interval.lo, -0.11684468527238168, 1e-9);
  EXPECT_NEAR(welch.interval.hi, 3.183511351939048, 1e-9);
  EXPECT_NEAR(welch.freedom, 2.680615347562995, 1e-9);
  EXPECT_NEAR(beside_one.interval.lo, -0.5639581835363991, 1e-9) << "one number is taken as it is";
  EXPECT_NEAR(beside_one.interval.hi, 3.230624850203066, 1e-9);
}

TEST(TInterval, OfEqualNumbersHasNoWidthAndNoError) {
  const std::vector<double> same = {2, 2, 2}, one = {2};
  for (const auto& values : {same, one}) {
    const TInterval t = t_interval(values);
    EXPECT_EQ(t.mean, 2);
    EXPECT_EQ(t.error, 0);
    EXPECT_EQ(t.interval.lo, t.interval.hi);
  }
}

}  // namespace
}  // namespace buoy
