// The words of a collection's documents: for each word which documents hold it, how often. Kept in the
// collection's file, in blocks of documents, so that a change touches few of them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/io/fts_words.h"
#include "buoy/io/sqlite.h"

namespace buoy {

// Documents of one block, by rowid / kBlockDocuments.
inline constexpr Index kBlockDocuments = 65536;

// lengths: how many words each document of a block has, u32 each by rowid % kBlockDocuments; 0 where there is
// none. postings: of one word in one block, how many documents hold it, how often at most, how short the
// shortest of them is; and the list: their places in the block (u16, ascending), then how often each (u8, u16
// or u32, whichever is enough). Little-endian.
inline constexpr const char* kPostingsSchema = R"sql(
CREATE TABLE totals (documents INTEGER NOT NULL, words INTEGER NOT NULL);
CREATE TABLE lengths (block INTEGER PRIMARY KEY, words BLOB NOT NULL);
CREATE TABLE postings (
  word TEXT NOT NULL, block INTEGER NOT NULL,
  documents INTEGER NOT NULL, most INTEGER NOT NULL, shortest INTEGER NOT NULL, list BLOB NOT NULL,
  PRIMARY KEY (word, block)
) WITHOUT ROWID;
INSERT INTO totals VALUES (0, 0);
)sql";

static_assert(std::endian::native == std::endian::little);

// A list as it is stored.
class PostingList {
 public:
  // Throws Error at `place` when the bytes are not a list of so many documents.
  PostingList(std::string bytes, Index documents, std::string_view place);

  Index size() const { return size_; }
  Index place(Index i) const { return read<std::uint16_t>(2 * i); }
  Index times(Index i) const {
    const Index at = 2 * size_ + width_ * i;
    if (width_ == 1) return read<std::uint8_t>(at);
    return width_ == 2 ? Index{read<std::uint16_t>(at)} : Index{read<std::uint32_t>(at)};
  }

  // How often the word occurs in the document at this place of the block; 0 where it is not there.
  Index times_at(Index place) const;

 private:
  template <typename T>
  T read(Index at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }

  std::string bytes_;
  Index size_, width_;  // bytes of a count
};

// Changes of one transaction, gathered and written by flush(). One thread.
class PostingWriter {
 public:
  explicit PostingWriter(Database& database) : database_(database) {}

  void add(Index row, std::string_view title, std::string_view text);
  // With the words that it was added with.
  void remove(Index row, std::string_view title, std::string_view text);

  // Inside the transaction that the documents were changed in. Throws Error.
  void flush();

 private:
  using Words = std::map<std::string, Index, std::less<>>;  // how often each
  Words words_of(std::string_view title, std::string_view text) const;
  std::vector<std::uint32_t>& lengths(Index block);
  void write_list(const std::string& word, Index block, const std::map<Index, Index>& changes);

  Database& database_;
  FtsWords parser_;
  std::map<std::pair<std::string, Index>, std::map<Index, Index>> changes_;  // (word, block): place → times
  std::map<Index, std::vector<std::uint32_t>> lengths_;
  Index documents_ = 0, words_ = 0;  // more than there were
  std::optional<Statement> find_, keep_;
};

}  // namespace buoy
