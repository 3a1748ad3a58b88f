#include "buoy/text/added_tokens.h"

#include <algorithm>

#include <utf8proc.h>

#include "buoy/text/utf8.h"

namespace buoy {
namespace {

std::uint64_t edge_key(std::uint32_t node, char byte) {
  return (std::uint64_t{node} << 8) | static_cast<unsigned char>(byte);
}

// The code point that ends just before byte `end`.
CodePoint code_point_before(std::string_view text, Index end) {
  Index at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[static_cast<std::size_t>(at)]) & 0xC0) == 0x80) --at;
  return code_point_at(text, at);
}

// A word character: letter, mark, decimal digit, letter number or connector.
bool is_word(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

bool touches_word(std::string_view text, ByteRange range) {
  if (range.begin > 0 && is_word(code_point_before(text, range.begin).value)) return true;
  return range.end < std::ssize(text) && is_word(code_point_at(text, range.end).value);
}

Index skip_space_left(std::string_view text, Index end, Index limit) {
  while (end > limit) {
    const CodePoint point = code_point_before(text, end);
    if (!is_white_space(point.value)) break;
    end -= point.length;
  }
  return end;
}

Index skip_space_right(std::string_view text, Index begin) {
  while (begin < std::ssize(text)) {
    const CodePoint point = code_point_at(text, begin);
    if (!is_white_space(point.value)) break;
    begin += point.length;
  }
  return begin;
}

}  // namespace

void AddedTokenMatcher::add(const AddedToken& token, std::string_view spelling) {
  std::uint32_t node = 0;
  for (const char byte : spelling) {
    const auto [it, is_new] = edges_.try_emplace(edge_key(node, byte), node_count_);
    if (is_new) ++node_count_;
    node = it->second;
  }
  starts_[static_cast<unsigned char>(spelling.front())] = true;
  // Two tokens with one spelling: the later wins, as in the original.
  ends_[node] = tokens_.size();
  tokens_.push_back(token);
}

std::optional<AddedTokenMatcher::Found> AddedTokenMatcher::longest_at(std::string_view text, Index at) const {
  std::optional<Found> longest;
  std::uint32_t node = 0;
  for (Index i = at; i < std::ssize(text); ++i) {
    const auto edge = edges_.find(edge_key(node, text[static_cast<std::size_t>(i)]));
    if (edge == edges_.end()) break;
    node = edge->second;
    if (const auto end = ends_.find(node); end != ends_.end()) longest = Found{i + 1 - at, end->second};
  }
  return longest;
}

std::vector<TextSegment> AddedTokenMatcher::split(std::string_view text) const {
  std::vector<TextSegment> segments;
  const Index size = std::ssize(text);
  Index done = 0;  // everything before it is in `segments`
  for (Index at = 0; at < size && !tokens_.empty();) {
    if (!starts_[static_cast<unsigned char>(text[static_cast<std::size_t>(at)])]) {
      ++at;
      continue;
    }
    const std::optional<Found> found = longest_at(text, at);
    if (!found) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[found->token];
    ByteRange range{at, at + found->length};
    at = range.end;
    if (token.single_word && touches_word(text, range)) continue;
    if (token.lstrip) range.begin = skip_space_left(text, range.begin, done);
    if (token.rstrip) range.end = skip_space_right(text, range.end);
    if (done < range.begin) segments.push_back({{done, range.begin}, std::nullopt});
    segments.push_back({range, token.id});
    done = range.end;
    at = std::max(at, done);
  }
  if (done < size) segments.push_back({{done, size}, std::nullopt});
  return segments;
}

}  // namespace buoy
