#include "buoy/draw/layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace buoy {
namespace {

constexpr double kSlack =
    1e-9;  // share of a step that rounding may take away from a tick at the end of the range

Index first_multiple(double low, double step) {
  return static_cast<Index>(std::ceil(low / step - kSlack));
}
Index last_multiple(double high, double step) {
  return static_cast<Index>(std::floor(high / step + kSlack));
}

std::string superscript(Index exponent) {
  static constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent))) out += kDigits[digit - '0'];
  return out;
}

bool is_whole(double value) {
  return std::abs(value - std::round(value)) < kSlack * std::max(1.0, std::abs(value));
}

// The smallest of 1, 2, 2.5, 5, 10, … (times a power of ten) that is at least `least`.
double nice_step(double least, TickStep kind) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 2.5, 5.0}) {
    const double step = digit * power;
    if (step < least * (1 - kSlack) || (kind == TickStep::kWhole && !is_whole(step))) continue;
    return step;
  }
  return 10 * power;
}

// Decimals that write every multiple of `step` exactly.
int decimals_of(double step) {
  int decimals = 0;
  for (; decimals < 12 && !is_whole(step); ++decimals) step *= 10;
  return decimals;
}

}  // namespace

std::string format_number(double value, int decimals) {
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e6);
  std::string text = plain ? fmt::format("{:.{}f}", value, decimals) : fmt::format("{:.3g}", value);
  if (text.find_first_of("123456789") == std::string::npos && text.starts_with('-')) text.erase(0, 1);
  for (std::size_t at = text.find('-'); at != std::string::npos; at = text.find('-', at))
    text.replace(at, 1, "−");
  return text;
}

Ticks nice_ticks(Range range, Index most, TickStep kind) {
  Ticks ticks;
  const double span = range.high - range.low;
  if (!(span > 0)) {
    ticks.at = {range.low};
    ticks.labels = {format_number(range.low, range.low == std::floor(range.low) ? 0 : 2)};
    return ticks;
  }
  const double least = span / static_cast<double>(most);
  double step = nice_step(kind == TickStep::kWhole ? std::max(least, 1.0) : least, kind);
  while (last_multiple(range.high, step) - first_multiple(range.low, step) + 1 > most) {
    step = nice_step(step * 1.01, kind);
  }
  const int decimals = decimals_of(step);
  for (Index i = first_multiple(range.low, step); i <= last_multiple(range.high, step); ++i) {
    ticks.at.push_back(static_cast<double>(i) * step);
    ticks.labels.push_back(format_number(ticks.at.back(), decimals));
  }
  return ticks;
}

Ticks log_ticks(Range range, Index most) {
  const Index first = first_multiple(std::log10(range.low), 1);
  const Index last = last_multiple(std::log10(range.high), 1);
  if (last - first < 1) return nice_ticks(range, most);
  Index stride = 1;
  while ((last - first) / stride + 1 > most) ++stride;
  Ticks ticks;
  for (Index exponent = first; exponent <= last; exponent += stride) {
    ticks.at.push_back(std::pow(10.0, static_cast<double>(exponent)));
    ticks.labels.push_back("10" + superscript(exponent));
  }
  return ticks;
}

Range extent_of(std::span<const double> values) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    if (std::isfinite(value)) range = united(range, {value, value});
  }
  return range;
}

Range united(Range a, Range b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Range padded(Range range, double share) {
  if (range.low > range.high) return {0, 1};
  if (range.low == range.high) {
    const double room = range.low == 0 ? 1 : std::abs(range.low) / 2;
    return {range.low - room, range.high + room};
  }
  const double room = (range.high - range.low) * share;
  return {range.low - room, range.high + room};
}

std::vector<Index> thin_evenly(Index count, Index first, double pitch, double needed) {
  const Index stride = std::llround(nice_step(std::max(1.0, needed / pitch), TickStep::kWhole));
  std::vector<Index> shown;
  for (Index i = 0; i < count; ++i) {
    if ((first + i) % stride == 0) shown.push_back(i);
  }
  if (shown.empty() && count > 0) shown.push_back(0);
  return shown;
}

std::vector<std::optional<double>> declutter(std::span<const Wish> wishes, double low, double high) {
  std::vector<std::size_t> kept(wishes.size());
  std::iota(kept.begin(), kept.end(), 0);
  std::ranges::stable_sort(kept, std::ranges::greater{}, [&](std::size_t i) { return wishes[i].weight; });
  double total = 0;
  for (const std::size_t i : kept) total += wishes[i].size;
  while (!kept.empty() && total > high - low) {
    total -= wishes[kept.back()].size;
    kept.pop_back();
  }
  std::ranges::stable_sort(kept, std::ranges::less{}, [&](std::size_t i) { return wishes[i].at; });

  // With the labels' own sizes taken out, "no overlap" reads "not descending": isotonic regression by
  // pooling.
  struct Pool {
    double sum = 0;
    Index count = 0;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  double used = 0;
  for (const std::size_t i : kept) {
    pools.push_back({wishes[i].at - used - wishes[i].size / 2, 1});
    used += wishes[i].size;
    while (pools.size() > 1 && pools[pools.size() - 2].mean() >= pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }

  std::vector<std::optional<double>> placed(wishes.size());
  used = 0;
  auto next = kept.begin();
  for (const Pool& pool : pools) {
    const double start = std::clamp(pool.mean(), low, std::max(low, high - total));
    for (Index k = 0; k < pool.count; ++k, ++next) {
      placed[*next] = start + used + wishes[*next].size / 2;
      used += wishes[*next].size;
    }
  }
  return placed;
}

}  // namespace buoy
