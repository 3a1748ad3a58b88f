#include "buoy/text/vocabulary.h"

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/text/byte_level.h"

namespace buoy {
namespace {

// Far above any vocabulary, and low enough that a broken file cannot exhaust memory.
constexpr Index kLargestId = 1999999;

}  // namespace

void Vocabulary::add(std::string_view spelling, Index id, std::string_view place) {
  if (id < 0 || id > kLargestId) {
    fail("{}: token {} has id {}, expected 0 to {}", place, quote(spelling), id, kLargestId);
  }
  const auto slot = static_cast<std::size_t>(id);
  const auto token = static_cast<TokenId>(id);
  if (has(token))
    fail("{}: tokens {} and {} share id {}", place, quote(spell_bytes(bytes_[slot])), quote(spelling), id);
  std::optional<std::string> bytes = unspell_bytes(spelling);
  const bool is_new = bytes ? by_bytes_.emplace(*bytes, token).second
                            : by_spelling_.emplace(std::string(spelling), token).second;
  if (!is_new) fail("{}: token {} appears twice", place, quote(spelling));
  if (slot >= bytes_.size()) {
    bytes_.resize(slot + 1);
    present_.resize(slot + 1);
  }
  bytes_[slot] = bytes ? std::move(*bytes) : std::string(spelling);
  present_[slot] = true;
  ++count_;
}

std::optional<TokenId> Vocabulary::find_bytes(std::string_view bytes) const {
  const auto it = by_bytes_.find(bytes);
  if (it == by_bytes_.end()) return std::nullopt;
  return it->second;
}

std::optional<TokenId> Vocabulary::find_spelling(std::string_view spelling) const {
  if (const std::optional<std::string> bytes = unspell_bytes(spelling)) return find_bytes(*bytes);
  const auto it = by_spelling_.find(spelling);
  if (it == by_spelling_.end()) return std::nullopt;
  return it->second;
}

}  // namespace buoy
