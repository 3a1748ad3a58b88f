// The tokens of a byte-level vocabulary, by id and by their bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// Lets maps keyed by std::string be searched with a std::string_view.
struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <typename Value>
using StringMap = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;

// Built once, then const and safe to share between threads.
class Vocabulary {
 public:
  // The token spelled `spelling` (byte-level alphabet). Throws Error at `place` for an id that is negative,
  // too large or taken, and for a spelling that is taken.
  void add(std::string_view spelling, Index id, std::string_view place);

  // The token with exactly these bytes.
  std::optional<TokenId> find_bytes(std::string_view bytes) const;
  // The token with this spelling.
  std::optional<TokenId> find_spelling(std::string_view spelling) const;

  bool has(TokenId id) const { return id >= 0 && id < end_id() && present_[static_cast<std::size_t>(id)]; }
  // The bytes of a token. One spelled outside the alphabet stands for its own UTF-8. `has(id)` must hold.
  const std::string& bytes_of(TokenId id) const { return bytes_[static_cast<std::size_t>(id)]; }

  TokenId end_id() const { return static_cast<TokenId>(bytes_.size()); }  // highest id + 1
  Index count() const { return count_; }

 private:
  StringMap<TokenId> by_bytes_;     // spelled within the alphabet
  StringMap<TokenId> by_spelling_;  // the others
  std::vector<std::string> bytes_;  // by id
  std::vector<bool> present_;       // by id
  Index count_ = 0;
};

}  // namespace buoy
