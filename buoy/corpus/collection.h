// A collection of documents in one SQLite file, searched by words and ranked by BM25.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/corpus/posting_search.h"
#include "buoy/io/sqlite.h"

namespace buoy {

// A passage as it is found again. Valid UTF-8; `id` is not empty.
struct Document {
  std::string id, title, text;
};

struct Hit {
  Document document;
  double score = 0;  // BM25: larger is better
};

struct AddCounts {
  Index added = 0, updated = 0, unchanged = 0;
};

// Distinct words of a question that are looked at, from its start.
inline constexpr Index kMaxQueryTerms = 128;

// One writer and any number of readers at a time, each with its own object: a reader sees whole transactions
// and is never held up. Everything throws Error "PATH: cause", also when the file is not a collection, was
// made by another version, or another writer keeps it for longer than the busy timeout.
class Collection {
 public:
  // kCreate makes the collection where there is no file or an empty one.
  explicit Collection(const std::filesystem::path& path, DatabaseAccess access = DatabaseAccess::kRead,
                      std::chrono::milliseconds busy_timeout = std::chrono::seconds(5));

  // Adds the documents or replaces those of the same id, all or none: one transaction.
  AddCounts add(std::span<const Document> documents);

  // Removes the documents, all or none: an id that is not there throws.
  void remove(std::span<const std::string> ids);

  // Removes every document whose id starts with `prefix`, which is not empty; returns how many.
  Index remove_prefix(std::string_view prefix);

  // The documents that fit `question` best by all of its words, best first, ties in byte order of their ids.
  // The question is text, not a query language; one without words finds nothing. Sees one state of the
  // collection throughout.
  std::vector<Hit> search(std::string_view question, Index top);

  // The same for many questions, all of which see one state of the collection, whoever writes meanwhile; and
  // that state's fingerprint.
  struct Found {
    std::vector<std::vector<Hit>> hits;  // [questions]
    std::string fingerprint;
  };
  Found search_all(std::span<const std::string> questions, Index top);

  // A hash of every document's id, title and text, in order of the ids.
  std::string fingerprint() const;

  std::optional<Document> get(std::string_view id) const;
  Index count() const;
  const std::filesystem::path& path() const { return database_.path(); }

 private:
  std::vector<Hit> search_here(std::string_view question, Index top);
  Index row_in(const Statement& found) const;
  Index remove_rows(Statement& found, PostingWriter& postings);
  PostingSearch& postings();

  Database database_;
  FtsWords parser_;
  std::optional<PostingSearch> postings_;  // what was read of them
  Index data_version_ = -1;                // of what was read
};

// The distinct words of a question in order, folded as the index folds them: runs of letters, marks and
// digits; case and Latin diacritics do not count. At most kMaxQueryTerms.
std::vector<std::string> query_terms(const FtsWords& parser, std::string_view question);

}  // namespace buoy
