#include "buoy/text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

constexpr std::size_t kLongestCachedPiece = 32;  // bytes
constexpr std::size_t kLargestCache = 1 << 15;   // pieces

std::uint64_t pair_key(TokenId left, TokenId right) {
  return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) | static_cast<std::uint32_t>(right);
}

}  // namespace

std::size_t MergeTable::slot_of(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 20) & mask;
  while (slots_[slot].key != kEmpty && slots_[slot].key != key) slot = (slot + 1) & mask;
  return slot;
}

void MergeTable::grow(std::size_t capacity) {
  std::vector<Slot> old(std::bit_ceil(capacity));
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.key != kEmpty) slots_[slot_of(slot.key)] = slot;
  }
}

void MergeTable::reserve(Index count) {
  grow(static_cast<std::size_t>(count) * 2 + 16);
}

void MergeTable::set(TokenId left, TokenId right, Merge merge) {
  if ((used_ + 1) * 2 > slots_.size()) grow(slots_.size() * 2 + 16);
  Slot& slot = slots_[slot_of(pair_key(left, right))];
  if (slot.key == kEmpty) ++used_;
  slot = {pair_key(left, right), merge};
}

const Merge* MergeTable::find(TokenId left, TokenId right) const {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slots_[slot_of(pair_key(left, right))];
  return slot.key == kEmpty ? nullptr : &slot.merge;
}

Bpe::Bpe(BpeSettings settings, const std::string& place)
    : vocabulary_(std::move(settings.vocabulary)), ignore_merges_(settings.ignore_merges) {
  const auto require = [&](std::string_view spelling, std::size_t rank) {
    const std::optional<TokenId> id = vocabulary_.find_spelling(spelling);
    if (!id) fail("{}: merge {} names {}, which is not in the vocabulary", place, rank, quote(spelling));
    return *id;
  };
  merges_.reserve(std::ssize(settings.merges));
  for (std::size_t rank = 0; rank < settings.merges.size(); ++rank) {
    const auto& [left, right] = settings.merges[rank];
    const TokenId left_id = require(left, rank);
    const TokenId right_id = require(right, rank);
    merges_.set(left_id, right_id, {static_cast<std::int32_t>(rank), require(left + right, rank)});
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    byte_tokens_.push_back(vocabulary_.find_bytes(std::string_view(&c, 1)).value_or(-1));
  }
  if (settings.unk_token) {
    unk_ = vocabulary_.find_spelling(*settings.unk_token);
    if (!unk_) fail("{}: unk_token {} is not in the vocabulary", place, quote(*settings.unk_token));
  }
}

void Bpe::encode(std::string_view piece, Workspace& workspace, std::vector<BpeToken>& out) const {
  if (piece.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    fail("tokenizer: a piece of text is {} bytes long, at most 2147483647", piece.size());
  }
  if (ignore_merges_) {
    if (const std::optional<TokenId> id = vocabulary_.find_bytes(piece)) {
      out.push_back({*id, static_cast<std::int32_t>(piece.size())});
      return;
    }
  }
  if (piece.size() > kLongestCachedPiece) {
    merge(piece, workspace, out);
    return;
  }
  const auto cached = workspace.cache_.find(piece);
  if (cached != workspace.cache_.end()) {
    out.insert(out.end(), cached->second.begin(), cached->second.end());
    return;
  }
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  merge(piece, workspace, out);
  if (workspace.cache_.size() < kLargestCache) {
    workspace.cache_.emplace(std::string(piece), std::vector<BpeToken>(out.begin() + first, out.end()));
  }
}

void Bpe::add_candidate(Workspace& workspace, std::int32_t position) const {
  const Workspace::Symbol& left = workspace.symbols_[static_cast<std::size_t>(position)];
  if (left.next < 0) return;
  const Merge* merge = merges_.find(left.id, workspace.symbols_[static_cast<std::size_t>(left.next)].id);
  if (merge == nullptr) return;
  workspace.heap_.push_back((static_cast<std::uint64_t>(merge->rank) << 32) |
                            static_cast<std::uint32_t>(position));
}

// Symbols form a linked list; a heap holds the merges that are possible. An entry of the heap may have gone
// stale because a neighbour was merged since: it is checked again when it comes up. O(n log n).
void Bpe::merge(std::string_view piece, Workspace& workspace, std::vector<BpeToken>& out) const {
  auto& symbols = workspace.symbols_;
  auto& heap = workspace.heap_;
  symbols.clear();
  heap.clear();
  const auto size = static_cast<std::int32_t>(piece.size());
  for (std::int32_t i = 0; i < size; ++i) {
    const TokenId id = byte_tokens_[static_cast<unsigned char>(piece[static_cast<std::size_t>(i)])];
    symbols.push_back({id, 1, i - 1, i + 1 < size ? i + 1 : -1});
  }
  for (std::int32_t i = 0; i < size; ++i) add_candidate(workspace, i);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());

  const auto push_candidate = [&](std::int32_t position) {
    const std::size_t before = heap.size();
    add_candidate(workspace, position);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const std::uint64_t best = heap.back();
    heap.pop_back();
    const auto position = static_cast<std::int32_t>(best & 0xFFFFFFFFu);
    Workspace::Symbol& left = symbols[static_cast<std::size_t>(position)];
    if (left.length == 0 || left.next < 0) continue;
    Workspace::Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    const Merge* current = merges_.find(left.id, right.id);
    if (current == nullptr || static_cast<std::uint64_t>(current->rank) != best >> 32) continue;
    left.id = current->id;
    left.length += right.length;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = position;
    if (left.previous >= 0) push_candidate(left.previous);
    push_candidate(position);
  }

  std::size_t offset = 0;
  for (std::int32_t at = size > 0 ? 0 : -1; at >= 0; at = symbols[static_cast<std::size_t>(at)].next) {
    const Workspace::Symbol& symbol = symbols[static_cast<std::size_t>(at)];
    if (symbol.id < 0 && !unk_) {
      fail("tokenizer: the vocabulary has no token for byte 0x{:02X} of the text, and no unk_token",
           static_cast<unsigned char>(piece[offset]));
    }
    out.push_back({symbol.id < 0 ? *unk_ : symbol.id, symbol.length});
    offset += static_cast<std::size_t>(symbol.length);
  }
}

}  // namespace buoy
