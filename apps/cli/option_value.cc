// Texts from the command line to values, with messages that say what was typed and what is expected.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/cli/options.h"
#include "apps/cli/suggestion.h"
#include "apps/cli/words.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

template <typename T>
constexpr bool kIsOptional = false;
template <typename T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
constexpr bool kIsList = false;
template <typename T>
constexpr bool kIsList<std::vector<T>> = true;

// The type of one value: T of optional<T> and vector<T>.
template <typename T>
struct OneOf {
  using Type = T;
};
template <typename T>
struct OneOf<std::optional<T>> {
  using Type = T;
};
template <typename T>
struct OneOf<std::vector<T>> {
  using Type = T;
};

std::string plain_digits(double value) {
  const bool whole = std::abs(value) < 1e15 && value == std::floor(value);
  return whole ? fmt::format("{}", static_cast<Index>(value)) : fmt::format("{}", value);
}

// "a number, above 0", "a whole number, 1 to 1024"; without a limit of its own, that of the type.
template <typename T>
std::string expected_number(const OptionInfo& option) {
  if constexpr (std::is_floating_point_v<T>) {
    return option.limits ? "a number, " + describe(*option.limits) : "a number";
  } else {
    using Type = std::numeric_limits<T>;
    const bool has_high = option.limits && option.limits->high;
    const std::string low = option.limits ? plain_digits(option.limits->low) : fmt::to_string(Type::lowest());
    return fmt::format("a whole number, {} to {}", low,
                       has_high ? plain_digits(*option.limits->high) : fmt::to_string(Type::max()));
  }
}

bool is_within(double value, const Limits& limits) {
  const bool low_enough = !limits.high || value <= *limits.high;
  return low_enough && (limits.kind == Limits::Low::kIncluded ? value >= limits.low : value > limits.low);
}

template <typename T>
T parse_number(const OptionInfo& option, const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_read = end == text.data() + text.size() && error == std::errc{};
  if (!is_read || !std::isfinite(static_cast<double>(value))) {
    fail_usage("{} is \"{}\", expected {}", spelled(option), text, expected_number<T>(option));
  }
  if (option.limits && !is_within(static_cast<double>(value), *option.limits)) {
    fail_usage("{} is {}, expected {}", spelled(option), text, describe(*option.limits));
  }
  return value;
}

template <typename T>
T parse_value(const OptionInfo& option, const std::string& text) {
  const std::vector<std::string>& choices = option.choices;
  if (!choices.empty() && std::ranges::find(choices, text) == choices.end()) {
    const std::span<const std::string> first(choices.data(), choices.size() - 1);
    const std::optional<std::string> near = nearest(text, choices);
    fail_usage("{} is \"{}\", expected {}{}{}{}", spelled(option), text, fmt::join(first, ", "),
               first.empty() ? "" : " or ", choices.back(),
               near ? fmt::format("; did you mean {}?", *near) : "");
  }
  if constexpr (std::is_arithmetic_v<T>) {
    return parse_number<T>(option, text);
  } else {
    return T(text);
  }
}

std::vector<std::string> split(const std::vector<std::string>& texts, char delimiter) {
  if (delimiter == 0) return texts;
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    std::size_t begin = 0;
    for (std::size_t end = 0; end != text.npos; begin = end + 1) {
      end = text.find(delimiter, begin);
      parts.push_back(text.substr(begin, end == text.npos ? end : end - begin));
    }
  }
  return parts;
}

template <typename T>
std::string shown(const T& value) {
  if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return value.string();
  } else if constexpr (kIsOptional<T>) {
    return value ? shown(*value) : "";
  } else {
    return fmt::format("{}", value);
  }
}

}  // namespace

std::string describe(const Limits& limits) {
  if (limits.kind == Limits::Low::kExcluded) {
    return "above " + plain_digits(limits.low) +
           (limits.high ? ", at most " + plain_digits(*limits.high) : "");
  }
  if (!limits.high) return "at least " + plain_digits(limits.low);
  return plain_digits(limits.low) + " to " + plain_digits(*limits.high);
}

std::string shown_value(const Target& target) {
  return std::visit(
      [](const auto* value) -> std::string {
        if constexpr (kIsList<std::decay_t<decltype(*value)>>) {
          return fmt::format("{}", fmt::join(*value, ","));
        } else {
          return shown(*value);
        }
      },
      target);
}

std::string argument_of(const Target& target) {
  return std::visit(
      [](const auto* value) -> std::string {
        using T = typename OneOf<std::decay_t<decltype(*value)>>::Type;
        if constexpr (std::is_integral_v<T>) return "INT";
        return std::is_floating_point_v<T> ? "FLOAT" : "TEXT";
      },
      target);
}

bool is_list(const Target& target) {
  return std::visit([](const auto* value) { return kIsList<std::decay_t<decltype(*value)>>; }, target);
}

void assign(const Target& target, const OptionInfo& option, const std::vector<std::string>& texts) {
  std::visit(
      [&](auto* value) {
        using Value = std::decay_t<decltype(*value)>;
        using T = typename OneOf<Value>::Type;
        if constexpr (kIsList<Value>) {
          value->clear();
          for (const std::string& text : split(texts, option.delimiter)) {
            value->push_back(parse_value<T>(option, text));
          }
        } else {
          if (texts.size() > 1)
            fail_usage("{} is given {} times, expected once", spelled(option), texts.size());
          *value = parse_value<T>(option, texts.at(0));
        }
      },
      target);
}

}  // namespace buoy
