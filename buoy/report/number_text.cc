#include "buoy/report/number_text.h"

#include <cmath>

#include <fmt/format.h>

namespace buoy {
namespace {

std::string signed_text(double value, Digits digits) {
  return (value > 0 ? "+" : value < 0 ? "−" : "") + number_text(std::abs(value), digits);
}

std::string text(const Summary& s, Digits digits, std::string (*number)(double, Digits)) {
  if (!s.lo || !s.hi) return number(s.mean, digits);
  return fmt::format("{} [{}, {}]", number(s.mean, digits), number(*s.lo, digits), number(*s.hi, digits));
}

}  // namespace

std::string number_text(double value, Digits digits) {
  if (digits == Digits::kPercent) return fmt::format("{:.1f}", value);
  const double size = std::abs(value);
  if (size != 0 && size < 0.001) return fmt::format("{:.1e}", value);
  return fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

std::string interval_text(const Summary& summary, Digits digits) {
  return text(summary, digits, number_text);
}

std::string change_text(const Summary& summary, Digits digits) {
  return text(summary, digits, signed_text);
}

}  // namespace buoy
