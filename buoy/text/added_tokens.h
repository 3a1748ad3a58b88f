// Tokens that are found in the text before anything else: <|im_end|> and its kin.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/text/normalizer.h"
#include "buoy/text/pattern.h"

namespace buoy {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool normalized = false;   // looked for in the normalised text
  bool special = false;
};

// A stretch of text: an added token (with the white space it takes), or text between such tokens.
struct TextSegment {
  ByteRange range;
  std::optional<TokenId> token;
};

// Finds a set of added tokens: leftmost first, the longest of those. Immutable, safe to share between
// threads. Time grows with the text times the length of the longest token.
class AddedTokenMatcher {
 public:
  AddedTokenMatcher() = default;

  // Adds `token`, to be found where `spelling` stands in the text.
  void add(const AddedToken& token, std::string_view spelling);

  // The segments of `text` in order, covering all of it; empty for an empty text.
  std::vector<TextSegment> split(std::string_view text) const;

 private:
  struct Found {
    Index length;
    std::size_t token;
  };
  std::optional<Found> longest_at(std::string_view text, Index at) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::uint64_t, std::uint32_t> edges_;    // (node, byte) → node
  std::unordered_map<std::uint32_t, std::size_t> ends_;       // node → index in tokens_
  std::vector<bool> starts_ = std::vector<bool>(256, false);  // bytes with which a token begins
  std::uint32_t node_count_ = 1;
};

}  // namespace buoy
