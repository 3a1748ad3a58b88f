// The best documents for a set of words by BM25, exactly, without scoring most of the others.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buoy/corpus/postings.h"

namespace buoy {

// Raised when the same question finds other documents of a collection, or the same with other scores: a run
// goes on only with what it began with.
inline constexpr Index kRankingCode = 2;

struct RankedRow {
  double score = 0;
  Index row = 0;
};

// Reads the postings of one state of a collection and keeps what it has read. One thread.
class PostingSearch {
 public:
  // Throws Error.
  explicit PostingSearch(const Database& database);

  // The best `top` documents that hold any of the words, and all that tie with the last of them, in no order.
  // The database is in the same state as before. Words are folded and distinct. Scores are sums in order of
  // rarity, equal ones in the order given.
  std::vector<RankedRow> best(const Database& database, std::span<const std::string> words, Index top);

 private:
  struct Block {
    Index number = 0, documents = 0;
    Index most = 0, shortest = 0;
    std::optional<PostingList> list = {};  // once it was needed
  };
  struct Word {
    std::string text;
    Index documents = 0;
    std::vector<Block> blocks;  // by number
  };
  class BlockSearch;

  Word& find(const std::string& word);
  const PostingList& list(const Word& word, Block& block);
  double idf(Index documents) const;

  const Database* database_;  // while something is asked: a collection may move
  double documents_ = 0, mean_words_ = 0;
  std::map<Index, std::vector<double>> weights_;  // of a block: what a document's length does to its score
  std::map<std::string, Word> words_;
  Index kept_bytes_ = 0;
  std::vector<double> sums_;  // of the block at hand
};

}  // namespace buoy
