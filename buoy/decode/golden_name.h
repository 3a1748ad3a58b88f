// The settings of a generation as a golden array's name spells them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "buoy/base/types.h"

namespace buoy {

// "gen_dynamic_s8_g20_b8_t0.6_stop167": a head, words, then letters with their numbers.
struct GoldenName {
  std::string head;                       // "gen", "order", "top1", "bd3lm"
  std::string words;                      // "dynamic", "maskgit_plus", "f32"; may be empty
  std::map<std::string, double> numbers;  // {"s", 8}, {"g", 20}, …

  bool has(const std::string& letters) const { return numbers.contains(letters); }
  Index count(const std::string& letters) const { return static_cast<Index>(numbers.at(letters)); }
  // Whether exactly these numbers are there, and perhaps some of `optional`. Each is a list such as "s g b".
  bool is_made_of(std::string_view required, std::string_view optional = {}) const;
};

// Nothing where the name has no such form, or counts what cannot be counted: "g16.5", "g1e300".
std::optional<GoldenName> parse_golden_name(std::string_view name);

// What an array is used for that is no result to compare; empty: it is none of those.
std::string_view golden_input(std::string_view name);

}  // namespace buoy
