// Python's string operations that templates use, on UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"

namespace buoy::jinja {

enum class StripSide { kLeft, kRight, kBoth };

// Without the characters of `characters` (white space as str.isspace() has it, when absent) at the ends.
std::string_view strip(std::string_view text, StripSide side,
                       std::optional<std::string_view> characters = std::nullopt);

// str.split(): by white space when `separator` is absent. `most` < 0: no limit. `separator` is not empty.
std::vector<std::string> split(std::string_view text, std::optional<std::string_view> separator, Index most);

// str.replace(); `most` < 0: all. An empty `old` stands before each character and at the end.
std::string replace(std::string_view text, std::string_view old, std::string_view with, Index most);

// The characters of the text, one string each.
std::vector<std::string> characters_of(std::string_view text);

bool is_ascii(std::string_view text);
std::string ascii_upper(std::string text);
std::string ascii_lower(std::string text);

}  // namespace buoy::jinja
