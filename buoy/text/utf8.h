// UTF-8 as Unicode defines it: validity, code points, and U+FFFD for what is broken.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "buoy/base/types.h"

namespace buoy {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

struct CodePoint {
  char32_t value;
  Index length;  // bytes, 1 to 4
};

// The code point that starts at byte `at` of valid UTF-8.
CodePoint code_point_at(std::string_view text, Index at);

void append_utf8(std::string& out, char32_t code_point);

// Code points in valid UTF-8.
Index count_code_points(std::string_view text);

// Byte offset of the first byte that belongs to no valid sequence; nothing when the text is valid.
std::optional<Index> find_invalid_utf8(std::string_view text);

// What to do with a sequence that the end of the bytes cuts short.
enum class Tail { kFinal, kMayContinue };

struct LossyResult {
  Index consumed = 0;  // bytes of the input that were turned into text
  Index replaced = 0;  // sequences that became U+FFFD
};

// Appends `bytes` as text. Each maximal subpart of a broken sequence becomes one U+FFFD (the rule of the
// WHATWG decoder and of Unicode chapter 3). With kMayContinue an incomplete last sequence is left unconsumed.
LossyResult append_lossy(std::string& out, std::string_view bytes, Tail tail);

// The bytes as text with broken sequences replaced, and how many were.
struct RepairedText {
  std::string text;
  Index replaced = 0;
};
RepairedText repair_utf8(std::string_view bytes);

// White_Space of Unicode: what \s means in the tokenizers' patterns.
bool is_white_space(char32_t code_point);

}  // namespace buoy
