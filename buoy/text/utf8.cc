#include "buoy/text/utf8.h"

#include <cstdint>
#include <cstring>

namespace buoy {
namespace {

enum class SequenceKind { kValid, kBroken, kIncomplete };

struct Sequence {
  SequenceKind kind;
  Index length;  // of the sequence, or of its maximal subpart when it is not valid
};

bool in_range(unsigned char byte, unsigned char low, unsigned char high) {
  return byte >= low && byte <= high;
}

// How long the sequence at `at` is meant to be, and what its second byte may be (table 3-7 of the standard).
struct LeadByte {
  Index length;
  unsigned char second_low, second_high;
};

LeadByte classify_lead(unsigned char lead) {
  if (in_range(lead, 0xC2, 0xDF)) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (in_range(lead, 0xE1, 0xEF)) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (in_range(lead, 0xF1, 0xF3)) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

Sequence sequence_at(std::string_view text, Index at) {
  const auto byte = [&](Index i) { return static_cast<unsigned char>(text[static_cast<std::size_t>(i)]); };
  const Index size = std::ssize(text);
  if (byte(at) < 0x80) return {SequenceKind::kValid, 1};
  const LeadByte lead = classify_lead(byte(at));
  if (lead.length == 0) return {SequenceKind::kBroken, 1};
  for (Index i = 1; i < lead.length; ++i) {
    if (at + i == size) return {SequenceKind::kIncomplete, i};
    const unsigned char low = i == 1 ? lead.second_low : 0x80;
    const unsigned char high = i == 1 ? lead.second_high : 0xBF;
    if (!in_range(byte(at + i), low, high)) return {SequenceKind::kBroken, i};
  }
  return {SequenceKind::kValid, lead.length};
}

// First byte at or after `at` that is not ASCII, eight at a time: most text is ASCII.
Index skip_ascii(std::string_view text, Index at) {
  const Index size = std::ssize(text);
  while (at + 8 <= size) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080u) != 0) break;
    at += 8;
  }
  while (at < size && static_cast<unsigned char>(text[static_cast<std::size_t>(at)]) < 0x80) ++at;
  return at;
}

// First byte at or after `at` that starts no valid sequence, or the size.
Index skip_valid(std::string_view text, Index at) {
  const Index size = std::ssize(text);
  while (true) {
    at = skip_ascii(text, at);
    if (at == size) return at;
    const Sequence sequence = sequence_at(text, at);
    if (sequence.kind != SequenceKind::kValid) return at;
    at += sequence.length;
  }
}

}  // namespace

CodePoint code_point_at(std::string_view text, Index at) {
  const auto byte = [&](Index i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[static_cast<std::size_t>(at + i)]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {((lead & 0x1F) << 6) | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) return {((lead & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F), 3};
  return {((lead & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) | (byte(3) & 0x3F), 4};
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

Index count_code_points(std::string_view text) {
  Index count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

std::optional<Index> find_invalid_utf8(std::string_view text) {
  const Index at = skip_valid(text, 0);
  if (at == std::ssize(text)) return std::nullopt;
  return at;
}

LossyResult append_lossy(std::string& out, std::string_view bytes, Tail tail) {
  LossyResult result;
  const Index size = std::ssize(bytes);
  while (result.consumed < size) {
    const Index valid_end = skip_valid(bytes, result.consumed);
    out.append(bytes.substr(static_cast<std::size_t>(result.consumed),
                            static_cast<std::size_t>(valid_end - result.consumed)));
    result.consumed = valid_end;
    if (valid_end == size) break;
    const Sequence sequence = sequence_at(bytes, valid_end);
    if (sequence.kind == SequenceKind::kIncomplete && tail == Tail::kMayContinue) break;
    out.append(kReplacementCharacter);
    result.consumed += sequence.length;
    ++result.replaced;
  }
  return result;
}

RepairedText repair_utf8(std::string_view bytes) {
  RepairedText repaired;
  repaired.text.reserve(bytes.size());
  repaired.replaced = append_lossy(repaired.text, bytes, Tail::kFinal).replaced;
  return repaired;
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

}  // namespace buoy
