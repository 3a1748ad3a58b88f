#include "buoy/decode/golden_name.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace buoy {
namespace {

std::vector<std::string_view> split_name(std::string_view text, char between) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(between), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// Scales and thresholds are any numbers; everything else counts something, and no model has more positions.
bool is_fit(std::string_view letters, double number) {
  constexpr double kMost = 1 << 22;
  return letters == "cfg" || letters == "t" || (number <= kMost && number == std::floor(number));
}

}  // namespace

bool GoldenName::is_made_of(std::string_view required, std::string_view optional) const {
  const std::vector<std::string_view> must = split_name(required, ' '), may = split_name(optional, ' ');
  const auto present = [&](std::string_view letters) { return has(std::string(letters)); };
  const auto known = [&](const auto& number) {
    return std::ranges::find(must, number.first) != must.end() ||
           std::ranges::find(may, number.first) != may.end();
  };
  return std::ranges::all_of(must, present) && std::ranges::all_of(numbers, known);
}

std::optional<GoldenName> parse_golden_name(std::string_view name) {
  // An algorithm, and types of numbers: words, though they end in digits.
  constexpr std::string_view kWords[] = {"p2", "f64", "f32", "bf16"};
  const std::vector<std::string_view> parts = split_name(name, '_');
  if (parts.size() < 2) return std::nullopt;
  GoldenName made{.head = std::string(parts[0]), .words = {}, .numbers = {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t digits = std::min(parts[i].find_first_of("0123456789"), parts[i].size());
    const std::string letters(parts[i].substr(0, digits)), rest(parts[i].substr(digits));
    double number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const bool whole = !letters.empty() && error == std::errc{} && end == rest.data() + rest.size();
    const bool word_place = made.numbers.empty();
    if (whole && !(word_place && std::ranges::find(kWords, parts[i]) != std::end(kWords))) {
      if (!is_fit(letters, number) || !made.numbers.emplace(letters, number).second) return std::nullopt;
    } else if (word_place) {
      made.words += (made.words.empty() ? "" : "_") + std::string(parts[i]);
    } else {
      return std::nullopt;
    }
  }
  return made;
}

std::string_view golden_input(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kInputs[] = {
      {"input_ids", "given: the sequence of the passes"},
      {"prompt_ids", "given: the prompt of the generations"},
      {"family", "given: what the model was told to be"},
      {"mask", "given: what rows see in the passes"},
      {"block", "given: what rows see in the passes"},
      {"bd3lm_ids", "given: the sequence of bd3lm_logits"},
      {"bd3lm_block", "given: what rows see in bd3lm_logits"}};
  for (const auto& [input, use] : kInputs) {
    if (input == name) return use;
  }
  return {};
}

}  // namespace buoy
