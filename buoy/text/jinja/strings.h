// Python's string operations that templates use, on UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/text/jinja/budget.h"

namespace buoy::jinja {

enum class StripSide { kLeft, kRight, kBoth };

// Without the characters of `characters` (white space as str.isspace() has it, when absent) at the ends.
std::string_view strip(std::string_view text, StripSide side,
                       std::optional<std::string_view> characters = std::nullopt);

// str.split(): by white space when `separator` is absent. `most` < 0: no limit. `separator` is not empty.
// Throws Error at the site for more parts than a list may have.
std::vector<std::string> split(std::string_view text, std::optional<std::string_view> separator, Index most,
                               const Site& site);

// str.replace(); `most` < 0: all. An empty `old` stands before each character and at the end. Throws Error at
// the site for text that becomes too long.
std::string replace(std::string_view text, std::string_view old, std::string_view with, Index most,
                    const Site& site);

// Where each character of the text starts, and its end: one more than there are characters.
std::vector<Index> character_starts(std::string_view text);
std::string character_at(std::string_view text, const std::vector<Index>& starts, Index number);

bool is_ascii(std::string_view text);
std::string ascii_upper(std::string text);
std::string ascii_lower(std::string text);

}  // namespace buoy::jinja
