// Enumerators by name: an array of names in the order of the enumerators is the whole table.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "buoy/base/error.h"

namespace buoy {

// Throws UsageError: "remasking is "low", expected one of low_confidence, random".
template <typename Enum, std::size_t n>
Enum enum_named(const std::array<std::string_view, n>& names, std::string_view name, std::string_view what) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<Enum>(found - names.begin());
  std::string known;
  for (const std::string_view one : names) known.append(known.empty() ? "" : ", ").append(one);
  fail_usage("{} is \"{}\", expected one of {}", what, name, known);
}

}  // namespace buoy
