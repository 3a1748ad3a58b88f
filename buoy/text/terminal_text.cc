#include "buoy/text/terminal_text.h"

#include <fmt/format.h>

#include "buoy/text/utf8.h"

namespace buoy {
namespace {

bool is_control(char32_t c) {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c <= 0x9F);
}

// Left-to-right and right-to-left embeddings, overrides and isolates.
bool turns_direction(char32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

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
