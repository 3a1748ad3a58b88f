#include "buoy/text/byte_level.h"

#include <array>

#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// Printable bytes stand for themselves; the other 68 take the code points from U+0100 on, in order.
constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr int kAlphabetEnd = 0x144;  // U+0100 + 68

struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<int, kAlphabetEnd> byte{};  // -1: no such character
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int& byte : alphabet.byte) byte = -1;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const int character = stands_for_itself(byte) ? byte : next++;
    alphabet.character[static_cast<std::size_t>(byte)] = static_cast<char32_t>(character);
    alphabet.byte[static_cast<std::size_t>(character)] = byte;
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string spell_bytes(std::string_view bytes) {
  std::string spelling;
  spelling.reserve(bytes.size() * 2);
  for (const char c : bytes) append_utf8(spelling, kAlphabet.character[static_cast<unsigned char>(c)]);
  return spelling;
}

std::optional<std::string> unspell_bytes(std::string_view spelling) {
  if (find_invalid_utf8(spelling)) return std::nullopt;
  std::string bytes;
  bytes.reserve(spelling.size());
  for (Index at = 0; at < std::ssize(spelling);) {
    const CodePoint point = code_point_at(spelling, at);
    if (point.value >= kAlphabetEnd) return std::nullopt;
    const int byte = kAlphabet.byte[point.value];
    if (byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
    at += point.length;
  }
  return bytes;
}

}  // namespace buoy
