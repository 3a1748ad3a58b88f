#include "buoy/text/jinja/strings.h"

#include <algorithm>

#include "buoy/text/utf8.h"

namespace buoy::jinja {
namespace {

// str.isspace(): White_Space and the four separators of ASCII.
bool is_python_space(char32_t c) {
  return is_white_space(c) || (c >= 0x1C && c <= 0x1F);
}

class CharacterSet {
 public:
  explicit CharacterSet(std::optional<std::string_view> characters) : all_space_(!characters) {
    if (!characters) return;
    for (Index at = 0; at < std::ssize(*characters);) {
      const CodePoint point = code_point_at(*characters, at);
      points_.push_back(point.value);
      at += point.length;
    }
  }

  bool has(char32_t c) const {
    return all_space_ ? is_python_space(c) : std::find(points_.begin(), points_.end(), c) != points_.end();
  }

 private:
  bool all_space_;
  std::u32string points_;
};

Index last_start(std::string_view text) {
  Index at = std::ssize(text) - 1;
  while (at > 0 && (static_cast<unsigned char>(text[static_cast<std::size_t>(at)]) & 0xC0) == 0x80) --at;
  return at;
}

std::vector<std::string> split_by_space(std::string_view text, Index most) {
  std::vector<std::string> parts;
  text = strip(text, StripSide::kLeft);
  while (!text.empty()) {
    if (most >= 0 && std::ssize(parts) == most) {
      parts.emplace_back(text);
      break;
    }
    Index end = 0;
    while (end < std::ssize(text) && !is_python_space(code_point_at(text, end).value)) {
      end += code_point_at(text, end).length;
    }
    parts.emplace_back(text.substr(0, static_cast<std::size_t>(end)));
    text = strip(text.substr(static_cast<std::size_t>(end)), StripSide::kLeft);
  }
  return parts;
}

}  // namespace

std::string_view strip(std::string_view text, StripSide side, std::optional<std::string_view> characters) {
  const CharacterSet set(characters);
  if (side != StripSide::kRight) {
    while (!text.empty()) {
      const CodePoint point = code_point_at(text, 0);
      if (!set.has(point.value)) break;
      text.remove_prefix(static_cast<std::size_t>(point.length));
    }
  }
  if (side != StripSide::kLeft) {
    while (!text.empty()) {
      const Index at = last_start(text);
      if (!set.has(code_point_at(text, at).value)) break;
      text = text.substr(0, static_cast<std::size_t>(at));
    }
  }
  return text;
}

std::vector<std::string> split(std::string_view text, std::optional<std::string_view> separator, Index most) {
  if (!separator) return split_by_space(text, most);
  std::vector<std::string> parts;
  while (most < 0 || std::ssize(parts) < most) {
    const std::size_t found = text.find(*separator);
    if (found == std::string_view::npos) break;
    parts.emplace_back(text.substr(0, found));
    text.remove_prefix(found + separator->size());
  }
  parts.emplace_back(text);
  return parts;
}

std::string replace(std::string_view text, std::string_view old, std::string_view with, Index most) {
  std::string out;
  if (old.empty()) {
    const std::vector<std::string> characters = characters_of(text);
    for (std::size_t i = 0; i <= characters.size(); ++i) {
      if (most < 0 || static_cast<Index>(i) < most) out += with;
      if (i < characters.size()) out += characters[i];
    }
    return out;
  }
  for (Index done = 0; most < 0 || done < most; ++done) {
    const std::size_t found = text.find(old);
    if (found == std::string_view::npos) break;
    out += text.substr(0, found);
    out += with;
    text.remove_prefix(found + old.size());
  }
  return out += text;
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  for (Index at = 0; at < std::ssize(text);) {
    const Index length = code_point_at(text, at).length;
    characters.emplace_back(text.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(length)));
    at += length;
  }
  return characters;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string ascii_upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string ascii_lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace buoy::jinja
