#include "buoy/report/number_text.h"

#include <cmath>

#include <fmt/format.h>

namespace buoy {
namespace {

std::string unsigned_text(double value, Digits digits) {
  return fmt::format("{:.{}f}", std::abs(value), digits == Digits::kPercent ? 1 : 3);
}

bool is_zero(const std::string& text) {
  return text.find_first_of("123456789") == std::string::npos && text.find_first_of("0") == 0;
}

std::string with_sign(double value, Digits digits, const char* plus) {
  const std::string text = unsigned_text(value, digits);
  if (is_zero(text) || std::isnan(value)) return text;
  return (value < 0 ? "−" : plus) + text;
}

std::string signed_text(double value, Digits digits) {
  return with_sign(value, digits, "+");
}

std::string text(const Summary& s, Digits digits, std::string (*number)(double, Digits)) {
  if (!s.lo || !s.hi) return number(s.mean, digits);
  return fmt::format("{} [{}, {}]", number(s.mean, digits), number(*s.lo, digits), number(*s.hi, digits));
}

}  // namespace

std::string number_text(double value, Digits digits) {
  return with_sign(value, digits, "");
}

std::string interval_text(const Summary& summary, Digits digits) {
  return text(summary, digits, number_text);
}

std::string change_text(const Summary& summary, Digits digits) {
  return text(summary, digits, signed_text);
}

}  // namespace buoy
