// Strings between UTF-8 and numpy's fixed-width UTF-32 cells.
#include <algorithm>
#include <cstring>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/io/npy_format.h"

namespace buoy {
namespace {

constexpr char32_t kMaxCodePoint = 0x10FFFF;

bool is_surrogate(char32_t c) {
  return c >= 0xD800 && c <= 0xDFFF;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

struct Decoded {
  char32_t character = 0;
  std::size_t length = 0;  // 0: not valid UTF-8
};

// The first character of `text`, which is not empty. Overlong forms and surrogates are invalid.
Decoded first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < length) return {};
  char32_t c = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    c = c << 6 | (byte(i) & 0x3FU);
  }
  const char32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (c < smallest || c > kMaxCodePoint || is_surrogate(c)) return {};
  return {c, length};
}

// Characters of valid UTF-8; -1 when it is not.
Index character_count(std::string_view text) {
  Index count = 0;
  for (; !text.empty(); ++count) {
    const Decoded next = first_character(text);
    if (next.length == 0) return -1;
    text.remove_prefix(next.length);
  }
  return count;
}

}  // namespace

std::vector<std::string> decode_npy_text(std::span<const std::byte> cells, Index element_size, Index count,
                                         std::string_view place) {
  std::vector<std::string> text(static_cast<std::size_t>(count));
  std::size_t offset = 0;
  for (std::string& item : text) {
    std::size_t kept = 0;
    for (Index i = 0; i < element_size; i += 4, offset += 4) {
      std::uint32_t c = 0;
      std::memcpy(&c, cells.data() + offset, 4);
      if (c > kMaxCodePoint || is_surrogate(c)) {
        fail("{}: a string holds U+{:04X}, which is no character", place, c);
      }
      append_utf8(item, c);
      if (c != 0) kept = item.size();
    }
    item.resize(kept);
  }
  return text;
}

Index npy_text_length(const std::vector<std::string>& text, std::string_view place) {
  Index longest = 1;
  for (const std::string& item : text) {
    const Index length = character_count(item);
    if (length < 0) fail("{}: {} is not valid UTF-8", place, quote(item));
    if (item.ends_with('\0')) fail("{}: {} ends with NUL, which numpy drops", place, quote(item));
    longest = std::max(longest, length);
  }
  return longest;
}

std::vector<std::byte> encode_npy_text(const std::vector<std::string>& text, Index length) {
  const std::size_t cell = static_cast<std::size_t>(length) * 4;
  std::vector<std::byte> bytes(text.size() * cell);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::byte* out = bytes.data() + i * cell;
    for (std::string_view rest = text[i]; !rest.empty(); out += 4) {
      const Decoded next = first_character(rest);
      std::memcpy(out, &next.character, 4);
      rest.remove_prefix(next.length);
    }
  }
  return bytes;
}

}  // namespace buoy
