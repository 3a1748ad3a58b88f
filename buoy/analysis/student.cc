#include "buoy/analysis/student.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "buoy/base/error.h"

namespace buoy {
namespace {

// The continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 10000;
  const auto kept_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / kept_from_zero(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m < kMostTerms; ++m) {
    for (const double term : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / kept_from_zero(1 + term * d);
      c = kept_from_zero(1 + term / c);
      value *= d * c;
    }
    if (std::abs(d * c - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return value;
}

// Regularised, I_x(a, b). `rest` is 1 − x, given apart because it may be too small to subtract.
double incomplete_beta(double a, double b, double x, double rest) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, rest) / b;
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double student_within(double t, double freedom) {
  check(t >= 0 && freedom > 0, "Student's t has degrees of freedom");
  const double squares = t * t;
  return incomplete_beta(0.5, freedom / 2, squares / (freedom + squares), freedom / (freedom + squares));
}

double student_quantile(double confidence, double freedom) {
  check(confidence > 0 && confidence < 1, "a confidence lies between 0 and 1");
  double low = 0, high = 1;
  while (student_within(high, freedom) < confidence) low = high, high *= 2;
  while (high - low > 1e-11 * high) {
    const double middle = (low + high) / 2;
    (student_within(middle, freedom) < confidence ? low : high) = middle;
  }
  return (low + high) / 2;
}

double deviation_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

TInterval t_interval(std::span<const double> a, std::span<const double> b) {
  check(!a.empty(), "a mean is of something");
  TInterval out{.mean = mean_of(a) - (b.empty() ? 0 : mean_of(b)), .interval = {}};
  double variance = 0, spread = 0;  // Σ s²/n, and Σ (s²/n)² ÷ (n − 1)
  for (const std::span<const double> side : {a, b}) {
    if (side.size() < 2) continue;
    const double deviation = deviation_of(side), n = static_cast<double>(side.size());
    const double part = deviation * deviation / n;
    variance += part;
    spread += part * part / (n - 1);
  }
  out.interval = {.lo = out.mean, .hi = out.mean};
  if (!(variance > 0)) return out;
  out.error = std::sqrt(variance);
  out.freedom = variance * variance / spread;
  const double reach = student_quantile(kConfidence, out.freedom) * out.error;
  out.interval = {.lo = out.mean - reach, .hi = out.mean + reach};
  return out;
}

}  // namespace buoy
