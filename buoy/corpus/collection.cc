#include "buoy/corpus/collection.h"

#include <algorithm>
#include <ctime>
#include <set>

#include <utf8proc.h>

#include "buoy/base/error.h"
#include "buoy/io/hash.h"
#include "buoy/io/json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr Index kApplicationId = 0x42756F43;  // "BuoC", in the file's header
constexpr Index kVersion = 1;

// The index keeps no copy of the text. The triggers keep it in step with the documents, whoever changes them.
constexpr const char* kSchema = R"sql(
CREATE TABLE documents (
  rowid INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  text TEXT NOT NULL,
  updated INTEGER NOT NULL  -- seconds since 1970
);
CREATE VIRTUAL TABLE words USING fts5(
  title, text, content = 'documents', content_rowid = 'rowid', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
  INSERT INTO words(rowid, title, text) VALUES (new.rowid, new.title, new.text);
END;
CREATE TRIGGER document_removed AFTER DELETE ON documents BEGIN
  INSERT INTO words(words, rowid, title, text) VALUES ('delete', old.rowid, old.title, old.text);
END;
CREATE TRIGGER document_updated AFTER UPDATE ON documents BEGIN
  INSERT INTO words(words, rowid, title, text) VALUES ('delete', old.rowid, old.title, old.text);
  INSERT INTO words(rowid, title, text) VALUES (new.rowid, new.title, new.text);
END;
)sql";

// Whether the file holds a collection of this version; false when it is empty. Throws for anything else.
bool holds_collection(const Database& database) {
  const std::string place = database.path().string();
  const Index application = database.integer("PRAGMA application_id");
  if (application == 0 && database.integer("SELECT count(*) FROM sqlite_schema") == 0) return false;
  if (application != kApplicationId) fail("{}: is a database, but not a document collection", place);
  const Index version = database.integer("PRAGMA user_version");
  if (version != kVersion) {
    fail("{}: is a collection of version {}, made by another version of buoy; expected version {}", place,
         version, kVersion);
  }
  // What the file does by itself must be what a collection does.
  Statement foreign(
      database,
      "SELECT name FROM sqlite_schema WHERE (type IN ('trigger', 'view') OR name IN ('documents', "
      "'words')) AND instr(?1, sql) = 0");
  foreign.bind({std::string_view(kSchema)});
  if (foreign.step()) fail("{}: holds {}, which is no part of a collection", place, quote(foreign.text(0)));
  return true;
}

void create_schema(Database& database) {
  database.execute("PRAGMA journal_mode = WAL");
  Transaction transaction(database);
  if (holds_collection(database)) return;  // another process was first
  database.execute(kSchema);
  database.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kVersion));
  transaction.commit();
}

// While it lives, every statement of the connection reads the same state, inside a transaction or not.
class Snapshot {
 public:
  explicit Snapshot(Database& database) : database_(database) { database_.execute("SAVEPOINT snapshot"); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() {
    try {
      database_.execute("RELEASE snapshot");
    } catch (const Error&) {
      // Nothing was written, so nothing can be lost.
    }
  }

 private:
  Database& database_;
};

bool is_word_character(char32_t c) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO) ||
         category == UTF8PROC_CATEGORY_CO;
}

// A key under which spellings meet that the index does not tell apart. Only a key: the index folds the words
// of a query itself.
std::string fold(std::string_view word) {
  std::string key;
  for (Index at = 0; at < std::ssize(word);) {
    const CodePoint c = code_point_at(word, at);
    at += c.length;
    utf8proc_int32_t parts[16];
    int boundary = 0;
    const auto n = utf8proc_decompose_char(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.value)), parts,
                                           std::ssize(parts), UTF8PROC_DECOMPOSE, &boundary);
    for (const utf8proc_int32_t part : std::span(parts).first(static_cast<std::size_t>(std::max(n, {})))) {
      constexpr utf8proc_int32_t kFirstMark = 0x300, kLastMark = 0x331;  // those that the tokenizer drops
      if (part < kFirstMark || part > kLastMark) append_utf8(key, static_cast<char32_t>(part));
    }
  }
  return key;
}

// Quoted, so that no word is an operator. Words hold no quotes.
std::string match_any(std::span<const std::string> terms) {
  std::string query;
  for (const std::string& term : terms) query += fmt::format("{}\"{}\"", query.empty() ? "" : " OR ", term);
  return query;
}

Document document_of(const Statement& row) {
  return {
      .id = std::string(row.text(0)), .title = std::string(row.text(1)), .text = std::string(row.text(2))};
}

struct Ranked {
  double score;
  Index row;
};

// All matches that are among the best `top`, and those that tie with the last of them.
std::vector<Ranked> best_matches(const Database& database, const std::string& query, Index top) {
  std::vector<Ranked> matches;
  Statement statement(database, "SELECT rowid, bm25(words) FROM words WHERE words MATCH ?1");
  statement.bind({query});
  while (statement.step()) matches.push_back({.score = -statement.real(1), .row = statement.integer(0)});
  if (std::ssize(matches) <= top) return matches;
  const auto last = matches.begin() + (top - 1);
  std::ranges::nth_element(matches, last, std::ranges::greater{}, &Ranked::score);
  const double least = last->score;
  std::erase_if(matches, [least](const Ranked& match) { return match.score < least; });
  return matches;
}

void check_document(const Document& document, const fs::path& path) {
  if (document.id.empty()) fail("{}: a document has an empty id", path.string());
  for (const std::string* field : {&document.id, &document.title, &document.text}) {
    if (const auto at = find_invalid_utf8(*field)) {
      fail("{}: document {} is not valid UTF-8 at byte {}", path.string(), quote(document.id), *at);
    }
  }
}

}  // namespace

std::vector<std::string> query_terms(std::string_view question) {
  const std::string text = repair_utf8(question).text;
  std::vector<std::string> terms;
  std::set<std::string> seen;
  std::string word;
  const auto finish_word = [&] {
    if (!word.empty() && seen.insert(fold(word)).second) terms.push_back(word);
    word.clear();
  };
  for (Index at = 0; at < std::ssize(text) && std::ssize(terms) < kMaxQueryTerms;) {
    const CodePoint c = code_point_at(text, at);
    if (is_word_character(c.value)) {
      word += std::string_view(text).substr(static_cast<std::size_t>(at), static_cast<std::size_t>(c.length));
    } else {
      finish_word();
    }
    at += c.length;
  }
  if (std::ssize(terms) < kMaxQueryTerms) finish_word();
  return terms;
}

Collection::Collection(const fs::path& path, DatabaseAccess access, std::chrono::milliseconds busy_timeout)
    : database_(path, {.access = access, .journal = Journal::kRollback, .busy_timeout = busy_timeout}) {
  if (!holds_collection(database_)) {
    if (access != DatabaseAccess::kCreate) fail("{}: is empty, expected a collection", path.string());
    create_schema(database_);
  }
  // NORMAL: a killed process loses nothing; after a power cut the latest batches may be missing, each whole.
  database_.execute("PRAGMA cache_size = -65536; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = OFF");
}

AddCounts Collection::add(std::span<const Document> documents) {
  for (const Document& document : documents) check_document(document, path());
  AddCounts counts;
  const Index now = std::time(nullptr);
  Transaction transaction(database_);
  Statement insert(
      database_,
      "INSERT INTO documents(id, title, text, updated) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING");
  Statement update(database_,
                   "UPDATE documents SET title = ?2, text = ?3, updated = ?4 "
                   "WHERE id = ?1 AND (title <> ?2 OR text <> ?3)");
  for (const Document& d : documents) {
    insert.bind({d.id, d.title, d.text, now}).run();
    if (database_.changes() > 0) {
      ++counts.added;
      continue;
    }
    update.bind({d.id, d.title, d.text, now}).run();
    ++(database_.changes() > 0 ? counts.updated : counts.unchanged);
  }
  transaction.commit();
  counts_ = {};
  return counts;
}

void Collection::remove(std::span<const std::string> ids) {
  Transaction transaction(database_);
  Statement statement(database_, "DELETE FROM documents WHERE id = ?1");
  for (const std::string& id : ids) {
    statement.bind({id}).run();
    if (database_.changes() == 0) fail("{}: has no document {}", path().string(), quote(id));
  }
  transaction.commit();
  counts_ = {};
}

Index Collection::remove_prefix(std::string_view prefix) {
  check(!prefix.empty(), "a prefix");
  std::string past(prefix);
  append_utf8(past, 0x10FFFF);  // no id goes on with it
  Transaction transaction(database_);
  Statement(database_, "DELETE FROM documents WHERE id >= ?1 AND id < ?2").bind({prefix, past}).run();
  const Index removed = database_.changes();
  transaction.commit();
  counts_ = {};
  return removed;
}

void Collection::refresh_counts() {
  const Index version = database_.integer("PRAGMA data_version");  // another connection's writes change it
  if (version == counts_.data_version) return;
  const auto share = static_cast<Index>(kMaxPostingsShare * static_cast<double>(count()));
  counts_ = {.data_version = version, .limit = std::max(kMaxPostings, share)};
}

Index Collection::document_count(const std::string& term) {
  const auto known = counts_.documents.find(term);
  if (known != counts_.documents.end()) return known->second;
  Statement statement(database_,
                      "SELECT count(*) FROM (SELECT rowid FROM words WHERE words MATCH ?1 LIMIT ?2)");
  statement.bind({match_any({&term, 1}), counts_.limit + 1}).step();
  return counts_.documents[term] = statement.integer(0);
}

std::vector<std::string> Collection::choose_terms(std::string_view question) {
  refresh_counts();
  std::vector<std::string> terms = query_terms(question);
  const auto count_of = [this](const std::string& term) { return document_count(term); };
  std::erase_if(terms, [&](const std::string& term) { return count_of(term) == 0; });
  std::ranges::stable_sort(terms, {}, count_of);
  Index postings = 0;
  const auto end = std::ranges::find_if(
      terms, [&](const std::string& term) { return (postings += count_of(term)) > counts_.limit; });
  const bool only_frequent = end == terms.begin();
  if (!terms.empty()) terms.erase(only_frequent ? end + 1 : end, terms.end());
  return terms;
}

std::vector<Hit> Collection::search(std::string_view question, Index top) {
  const Snapshot snapshot(database_);
  return search_here(question, top);
}

Collection::Found Collection::search_all(std::span<const std::string> questions, Index top) {
  const Snapshot snapshot(database_);
  Found found{.hits = {}, .fingerprint = fingerprint()};
  for (const std::string& question : questions) found.hits.push_back(search_here(question, top));
  return found;
}

std::string Collection::fingerprint() const {
  Hasher hasher;
  Statement row(database_, "SELECT id, title, text FROM documents ORDER BY id");
  while (row.step()) {
    for (const int column : {0, 1, 2}) hasher.add(row.text(column));
  }
  return hasher.hex();
}

// Inside a snapshot.
std::vector<Hit> Collection::search_here(std::string_view question, Index top) {
  const std::vector<std::string> terms = choose_terms(question);
  std::vector<Hit> hits;
  if (terms.empty() || top <= 0) return hits;
  Statement document(database_, "SELECT id, title, text FROM documents WHERE rowid = ?1");
  for (const Ranked& match : best_matches(database_, match_any(terms), top)) {
    if (!document.bind({match.row}).step())
      fail("{}: is damaged: its index names a document that is not there", path().string());
    hits.push_back({.document = document_of(document), .score = match.score});
  }
  std::ranges::sort(hits, [](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : a.document.id < b.document.id;
  });
  if (std::ssize(hits) > top) hits.resize(static_cast<std::size_t>(top));
  return hits;
}

std::optional<Document> Collection::get(std::string_view id) const {
  Statement statement(database_, "SELECT id, title, text FROM documents WHERE id = ?1");
  if (!statement.bind({id}).step()) return std::nullopt;
  return document_of(statement);
}

Index Collection::count() const {
  return database_.integer("SELECT count(*) FROM documents");
}

}  // namespace buoy
