#include "buoy/text/jinja/strings.h"

#include <algorithm>

#include "buoy/text/jinja/value.h"
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

void add_part(std::vector<std::string>& parts, std::string_view part, const Site& site) {
  if (parts.size() == kLongestList) fail_at(site, "a list is longer than {}", kLongestList);
  spend_bytes(site, part.size() + std::size_t{kBytesPerText});
  parts.emplace_back(part);
}

std::vector<std::string> split_by_space(std::string_view text, Index most, const Site& site) {
  std::vector<std::string> parts;
  text = strip(text, StripSide::kLeft);
  while (!text.empty()) {
    if (most >= 0 && std::ssize(parts) == most) {
      add_part(parts, text, site);
      break;
    }
    Index end = 0;
    while (end < std::ssize(text) && !is_python_space(code_point_at(text, end).value)) {
      end += code_point_at(text, end).length;
    }
    add_part(parts, text.substr(0, static_cast<std::size_t>(end)), site);
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

std::vector<std::string> split(std::string_view text, std::optional<std::string_view> separator, Index most,
                               const Site& site) {
  if (!separator) return split_by_space(text, most, site);
  spend_search(site, text.size(), separator->size());
  std::vector<std::string> parts;
  while (most < 0 || std::ssize(parts) < most) {
    const std::size_t found = text.find(*separator);
    if (found == std::string_view::npos) break;
    add_part(parts, text.substr(0, found), site);
    text.remove_prefix(found + separator->size());
  }
  add_part(parts, text, site);
  return parts;
}

std::string replace(std::string_view text, std::string_view old, std::string_view with, Index most,
                    const Site& site) {
  std::string out;
  const auto put = [&](std::string_view piece) {
    check_length(site, out.size() + piece.size());
    out += piece;
  };
  if (old.empty()) {
    const std::vector<Index> starts = character_starts(text);
    for (Index i = 0; i < std::ssize(starts); ++i) {
      if (most < 0 || i < most) put(with);
      if (i + 1 < std::ssize(starts)) put(character_at(text, starts, i));
    }
    return out;
  }
  spend_search(site, text.size(), old.size());
  for (Index done = 0; most < 0 || done < most; ++done) {
    const std::size_t found = text.find(old);
    if (found == std::string_view::npos) break;
    put(text.substr(0, found));
    put(with);
    text.remove_prefix(found + old.size());
  }
  put(text);
  return out;
}

std::vector<Index> character_starts(std::string_view text) {
  std::vector<Index> starts;
  for (Index at = 0; at < std::ssize(text); at += code_point_at(text, at).length) starts.push_back(at);
  starts.push_back(std::ssize(text));
  return starts;
}

std::string character_at(std::string_view text, const std::vector<Index>& starts, Index number) {
  const auto begin = static_cast<std::size_t>(starts[static_cast<std::size_t>(number)]);
  const auto end = static_cast<std::size_t>(starts[static_cast<std::size_t>(number) + 1]);
  return std::string(text.substr(begin, end - begin));
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
