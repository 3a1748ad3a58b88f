#include "report/number_text.h"

#include <cmath>

#include <fmt/format.h>

namespace buoy {
namespace {

std::string text(const Summary& s, std::string (*number)(double)) {
  if (!s.lo || !s.hi) return number(s.mean);
  return fmt::format("{} [{}, {}]", number(s.mean), number(*s.lo), number(*s.hi));
}

std::string signed_text(double value) {
  return (value > 0 ? "+" : "") + number_text(value);
}

}  // namespace

std::string number_text(double value) {
  const double size = std::abs(value);
  if (size != 0 && size < 0.001) return fmt::format("{:.1e}", value);
  return fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

std::string interval_text(const Summary& summary) {
  return text(summary, number_text);
}

std::string change_text(const Summary& summary) {
  return text(summary, signed_text);
}

}  // namespace buoy
