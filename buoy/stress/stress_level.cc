// Levels of stress: read, checked against their range, put in order.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/stress/stress.h"

namespace buoy {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

const Stressor& stressor_named(std::string_view name) {
  if (const Stressor* found = find_stressor(name)) return *found;
  std::vector<std::string_view> names;
  for (const Stressor& s : stressors()) names.push_back(s.name);
  fail_usage("{} is no stressor; there are {}", quote(name), fmt::join(names, ", "));
}

double highest(const Stressor& stressor, const StressOptions& options) {
  return stressor.reserved ? static_cast<double>(options.passages - *stressor.reserved) : stressor.high;
}

std::string range_text(const Stressor& stressor, const StressOptions& options) {
  if (stressor.categorical()) return fmt::format("one of {}", fmt::join(stressor.choices, ", "));
  return fmt::format("{}from {} to {}{}", stressor.whole ? "a whole number " : "", stressor.low,
                     highest(stressor, options),
                     stressor.reserved ? fmt::format(" (prompts have {} passages)", options.passages) : "");
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value + 0.0;  // -0 becomes 0
}

std::optional<StressLevel> level_in_range(const Stressor& stressor, std::string_view text,
                                          const StressOptions& options) {
  if (stressor.categorical()) {
    if (std::ranges::find(stressor.choices, text) == stressor.choices.end()) return {};
    return StressLevel{.stressor = &stressor, .text = std::string(text)};
  }
  const std::optional<double> value = number_in(text);
  const bool fits = value && *value >= stressor.low && *value <= highest(stressor, options);
  if (!fits || (stressor.whole && *value != std::floor(*value))) return {};
  return StressLevel{.stressor = &stressor, .text = fmt::format("{}", *value), .value = value};
}

std::vector<StressLevel> default_levels(const Stressor& stressor, const StressOptions& options) {
  std::vector<StressLevel> levels;
  for (const std::string_view text : stressor.levels) {
    if (auto level = level_in_range(stressor, text, options)) levels.push_back(std::move(*level));
  }
  if (!stressor.levels.empty()) return levels;
  for (double value = stressor.low; value <= highest(stressor, options); ++value) {
    levels.push_back({.stressor = &stressor, .text = fmt::format("{}", value), .value = value});
  }
  return levels;
}

// From the least stress on.
void put_in_order(std::vector<StressLevel>& levels) {
  const auto rank = [](const StressLevel& level) {
    const auto& choices = level.stressor->choices;
    if (level.value) return *level.stress();
    return static_cast<double>(std::ranges::find(choices, level.text) - choices.begin());
  };
  std::ranges::stable_sort(levels, {}, rank);
}

}  // namespace

std::string StressLevel::name() const {
  return fmt::format("{}={}", stressor->name, text);
}

std::optional<double> StressLevel::stress() const {
  if (!value) return {};
  switch (stressor->scale) {
    case StressScale::kLinear:
      break;
    case StressScale::kDoublings:
      return std::log2(*value);
    case StressScale::kHalvings:
      return -std::log2(*value);
  }
  return *value / stressor->unit_size;
}

std::vector<StressLevel> parse_stress(std::string_view spec, const StressOptions& options) {
  if (options.passages < 1) fail_usage("a prompt has {} passages, expected 1 or more", options.passages);
  const std::size_t equals = spec.find('=');
  const Stressor& stressor = stressor_named(spec.substr(0, equals));
  std::vector<StressLevel> levels;
  if (equals == spec.npos) {
    levels = default_levels(stressor, options);
    if (levels.empty()) {
      fail_usage("{}: has no level that fits into {} passages", stressor.name, options.passages);
    }
  } else {
    for (const std::string_view text : split(spec.substr(equals + 1), ',')) {
      auto level = level_in_range(stressor, text, options);
      if (!level) {
        fail_usage("{}: level {} is out of range, expected {}", stressor.name, quote(text),
                   range_text(stressor, options));
      }
      const bool again = std::ranges::find(levels, level->text, &StressLevel::text) != levels.end();
      if (again) fail_usage("{}: level {} is given twice", stressor.name, level->text);
      levels.push_back(std::move(*level));
    }
  }
  put_in_order(levels);
  return levels;
}

}  // namespace buoy
