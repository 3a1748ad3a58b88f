// Student's t: intervals from few units, such as models of one kind, where resampling has nothing to draw
// from.
#pragma once

#include <span>

#include "buoy/analysis/bootstrap.h"

namespace buoy {

// P(|T| ≤ t) of Student's t with `freedom` degrees, which need not be whole. t ≥ 0, freedom > 0.
double student_within(double t, double freedom);

// The t ≥ 0 with P(|T| ≤ t) = confidence, to 1e-10 of itself. 0 < confidence < 1.
double student_quantile(double confidence, double freedom);

struct TInterval {
  double mean = 0;     // of a, less that of b
  Interval interval;   // at kConfidence; without width where there is no error
  double error = 0;    // standard error of the mean
  double freedom = 0;  // degrees; 0 where there is no error
};

// Of the mean of `a` (one number each), or with `b` of the difference of the two means (Welch). A side of one
// number is taken as it is: it adds no error. Neither side is empty but for b, which may be.
TInterval t_interval(std::span<const double> a, std::span<const double> b = {});

// Standard deviation (n − 1); 0 of fewer than two.
double deviation_of(std::span<const double> values);

}  // namespace buoy
