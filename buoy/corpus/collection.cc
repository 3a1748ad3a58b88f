#include "buoy/corpus/collection.h"

#include <algorithm>
#include <ctime>
#include <set>

#include "buoy/base/error.h"
#include "buoy/io/hash.h"
#include "buoy/io/json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr Index kApplicationId = 0x42756F43;  // "BuoC", in the file's header
constexpr Index kVersion = 2;

const std::string& schema() {
  static const std::string text = std::string(R"sql(
CREATE TABLE documents (
  rowid INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  text TEXT NOT NULL,
  updated INTEGER NOT NULL  -- seconds since 1970
);
)sql") + kPostingsSchema;
  return text;
}

// Whether the file holds a collection of this version; false when it is empty. Throws for anything else.
bool holds_collection(const Database& database) {
  const std::string place = database.path().string();
  const Index application = database.integer("PRAGMA application_id");
  if (application == 0 && database.integer("SELECT count(*) FROM sqlite_schema") == 0) return false;
  if (application != kApplicationId) fail("{}: is a database, but not a document collection", place);
  const Index version = database.integer("PRAGMA user_version");
  if (version != kVersion) {
    fail(
        "{}: is a collection of version {}, made by another version of buoy; expected version {}: add its "
        "sources to a new one",
        place, version, kVersion);
  }
  // What the file does by itself must be what a collection does.
  Statement foreign(database, "SELECT name FROM sqlite_schema WHERE instr(?1, sql) = 0");
  foreign.bind({std::string_view(schema())});
  if (foreign.step()) fail("{}: holds {}, which is no part of a collection", place, quote(foreign.text(0)));
  return true;
}

void create_schema(Database& database) {
  database.execute("PRAGMA journal_mode = WAL");
  Transaction transaction(database);
  if (holds_collection(database)) return;  // another process was first
  database.execute(schema());
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

Document document_of(const Statement& row) {
  return {
      .id = std::string(row.text(0)), .title = std::string(row.text(1)), .text = std::string(row.text(2))};
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

std::vector<std::string> query_terms(const FtsWords& parser, std::string_view question) {
  std::vector<std::string> terms;
  std::set<std::string, std::less<>> seen;
  parser.each(repair_utf8(question).text, [&](std::string_view word) {
    if (std::ssize(terms) < kMaxQueryTerms && seen.emplace(word).second) terms.emplace_back(word);
  });
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
  Statement find(database_, "SELECT rowid, title, text FROM documents WHERE id = ?1");
  Statement insert(database_,
                   "INSERT INTO documents(id, title, text, updated) VALUES (?1, ?2, ?3, ?4) RETURNING rowid");
  Statement update(database_, "UPDATE documents SET title = ?2, text = ?3, updated = ?4 WHERE rowid = ?1");
  PostingWriter postings(database_);
  for (const Document& d : documents) {
    if (!find.bind({d.id}).step()) {
      insert.bind({d.id, d.title, d.text, now}).step();
      const Index row = row_in(insert);
      insert.run();
      postings.add(row, d.title, d.text);
      ++counts.added;
      continue;
    }
    const Index row = row_in(find);
    const bool same = find.text(1) == d.title && find.text(2) == d.text;
    if (!same) postings.remove(row, find.text(1), find.text(2));
    find.reset();
    ++(same ? counts.unchanged : counts.updated);
    if (same) continue;
    update.bind({row, d.title, d.text, now}).run();
    postings.add(row, d.title, d.text);
  }
  postings.flush();
  transaction.commit();
  postings_ = {};
  return counts;
}

// The number of a document. None of ours is negative, and words are kept by it.
Index Collection::row_in(const Statement& found) const {
  const Index row = found.integer(0);
  if (row < 0) fail("{}: is damaged: a document has the number {}", path().string(), row);
  return row;
}

// Removes the rows that a statement gives with title and text; returns how many.
Index Collection::remove_rows(Statement& found, PostingWriter& postings) {
  std::vector<Index> rows;
  while (found.step()) {
    rows.push_back(row_in(found));
    postings.remove(rows.back(), found.text(1), found.text(2));
  }
  Statement gone(database_, "DELETE FROM documents WHERE rowid = ?1");
  for (const Index row : rows) gone.bind({row}).run();
  return std::ssize(rows);
}

void Collection::remove(std::span<const std::string> ids) {
  Transaction transaction(database_);
  PostingWriter postings(database_);
  Statement find(database_, "SELECT rowid, title, text FROM documents WHERE id = ?1");
  for (const std::string& id : ids) {
    find.bind({id});
    if (remove_rows(find, postings) == 0) fail("{}: has no document {}", path().string(), quote(id));
  }
  postings.flush();
  transaction.commit();
  postings_ = {};
}

Index Collection::remove_prefix(std::string_view prefix) {
  check(!prefix.empty(), "a prefix");
  std::string past(prefix);
  append_utf8(past, 0x10FFFF);  // no id goes on with it
  Transaction transaction(database_);
  PostingWriter postings(database_);
  Statement find(database_, "SELECT rowid, title, text FROM documents WHERE id >= ?1 AND id < ?2");
  find.bind({prefix, past});
  const Index removed = remove_rows(find, postings);
  postings.flush();
  transaction.commit();
  postings_ = {};
  return removed;
}

// What was read of the postings, unless another connection has written since.
PostingSearch& Collection::postings() {
  const Index version = database_.integer("PRAGMA data_version");
  if (!postings_ || version != data_version_) postings_.emplace(database_);
  data_version_ = version;
  return *postings_;
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
  const std::vector<std::string> terms = query_terms(parser_, question);
  std::vector<Hit> hits;
  if (terms.empty() || top <= 0) return hits;
  Statement document(database_, "SELECT id, title, text FROM documents WHERE rowid = ?1");
  for (const RankedRow& match : postings().best(database_, terms, top)) {
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
