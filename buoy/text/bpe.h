// Byte-pair encoding: turns the bytes of one piece of text into tokens by merging neighbours, best rank
// first.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/text/vocabulary.h"

namespace buoy {

// A token and how many bytes of the piece it stands for.
struct BpeToken {
  TokenId id = 0;
  std::int32_t length = 0;
};

// What merging a pair gives.
struct Merge {
  std::int32_t rank = 0;
  TokenId id = 0;
};

// (left, right) → Merge, by open addressing: this is the hottest lookup of the tokenizer.
class MergeTable {
 public:
  void reserve(Index count);
  void set(TokenId left, TokenId right, Merge merge);  // a later entry for the same pair wins
  const Merge* find(TokenId left, TokenId right) const;

 private:
  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge;
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  std::size_t slot_of(std::uint64_t key) const;
  void grow(std::size_t capacity);

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

struct BpeSettings {
  Vocabulary vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;  // spellings, best first
  bool ignore_merges = false;                               // a piece that is a token stays whole
  std::optional<std::string> unk_token;                     // stands for a byte that the vocabulary lacks
};

// Const after construction, safe to share between threads.
class Bpe {
 public:
  // Throws Error at `place` for a merge whose parts or result are not in the vocabulary.
  Bpe(BpeSettings settings, const std::string& place);

  // Working memory of one thread, with a bounded cache of short pieces. Must not outlive the Bpe.
  class Workspace {
    friend class Bpe;
    struct Symbol {
      TokenId id;
      std::int32_t length;
      std::int32_t previous, next;  // -1: none
    };
    std::vector<Symbol> symbols_;
    std::vector<std::uint64_t> heap_;  // possible merges: rank in the upper half, position in the lower
    StringMap<std::vector<BpeToken>> cache_;
  };

  // Appends the tokens of `piece`. Throws Error for a byte that the vocabulary lacks, when there is no
  // unk_token.
  void encode(std::string_view piece, Workspace& workspace, std::vector<BpeToken>& out) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  void merge(std::string_view piece, Workspace& workspace, std::vector<BpeToken>& out) const;
  void add_candidate(Workspace& workspace, std::int32_t position) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  std::vector<TokenId> byte_tokens_;  // 256; -1 where the vocabulary lacks the byte
  std::optional<TokenId> unk_;
  bool ignore_merges_ = false;
};

}  // namespace buoy
