#include "buoy/text/terminal_text.h"

#include <fmt/format.h>

#include "buoy/text/utf8.h"

namespace buoy {
namespace {

bool is_control(char32_t c) {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c <= 0x9F);
}

// Left-to-right and right-to-left embeddings, overrides, isolates and marks.
bool turns_direction(char32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F ||
         c == 0x061C;
}

constexpr std::size_t kLongestMessage = 4000;

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// Without its middle. Characters stay whole.
std::string shortened(const std::string& line) {
  if (line.size() <= kLongestMessage) return line;
  std::size_t begin = kLongestMessage / 2, end = line.size() - kLongestMessage / 2;
  while (begin > 0 && continues(line[begin])) --begin;
  while (end < line.size() && continues(line[end])) ++end;
  return fmt::format("{} … {} bytes … {}", line.substr(0, begin), end - begin, line.substr(end));
}

}  // namespace

std::string for_message(std::string_view text) {
  std::string line;
  for (const char c : for_terminal(text)) {
    if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  return shortened(line);
}

std::string for_terminal(std::string_view text) {
  const std::string valid = repair_utf8(text).text;
  std::string out;
  out.reserve(valid.size());
  for (Index at = 0; at < std::ssize(valid);) {
    const CodePoint c = code_point_at(valid, at);
    if (is_control(c.value)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c.value));
    } else if (turns_direction(c.value)) {
      out += kReplacementCharacter;
    } else {
      out.append(valid, static_cast<std::size_t>(at), static_cast<std::size_t>(c.length));
    }
    at += c.length;
  }
  return out;
}

}  // namespace buoy
