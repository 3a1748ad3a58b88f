// SQLite databases: a connection, a prepared statement, a transaction. Failures name the file and the cause.
#pragma once

#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "buoy/base/types.h"

struct sqlite3_stmt;

namespace buoy {

enum class DatabaseAccess { kRead, kWrite, kCreate };  // kWrite: the file must be there; kCreate: made if not
enum class Journal { kRollback, kWal };                // kWal: others read while one writes

struct DatabaseOptions {
  DatabaseAccess access = DatabaseAccess::kCreate;
  Journal journal =
      Journal::kWal;  // a file that is only read, or that is in WAL mode already, stays as it is
  std::chrono::milliseconds busy_timeout{5000};  // how long to wait for another writer
};

// What a statement's place takes: nothing, an integer, a number or text. Copied when bound.
using SqlValue = std::variant<std::monostate, Index, double, std::string_view>;

struct SqliteConnection;  // sqlite.cc

// One connection. Not for two threads at once: each opens its own. Everything here and in Statement throws
// Error "PATH: cause" (no such file, not a database, damaged, locked by another writer, disk full,
// read-only).
class Database {
 public:
  // Opens and reads the header, so that a file of another kind fails here. `path` is always a file, never a
  // URI or a database in memory. With kRead, a file in a folder that we cannot write to and that nobody is
  // writing must stay as it is while it is open.
  explicit Database(const std::filesystem::path& path, const DatabaseOptions& options = {});
  Database(Database&&) = default;
  Database& operator=(Database&&) = default;

  // Runs statements separated by ";" and drops their rows.
  void execute(const std::string& sql);

  // The first column of the first row, for "SELECT count(*) …" and "PRAGMA user_version". Fails without one.
  Index integer(std::string_view sql) const;

  Index changes() const;  // rows that the latest INSERT, UPDATE or DELETE changed
  const std::filesystem::path& path() const;

 private:
  friend class Statement;
  friend class Transaction;
  std::shared_ptr<SqliteConnection> connection_;  // shared: a statement keeps its connection open
};

// One prepared statement, to be run as often as wanted. Movable.
class Statement {
 public:
  Statement(const Database& database, std::string_view sql);

  // Starts over with new values for the places ?1, ?2, …; all of them: statement.bind({id, text}).run().
  Statement& bind(std::initializer_list<SqlValue> values);

  bool step();   // true: at a row; false: done, and ready to be bound or run again
  void run();    // to the end, dropping rows
  void reset();  // leaves a half-read result, so that it no longer holds a read lock

  // Columns of the row at hand, from 0. NULL reads as 0 or "". Views live until the next step, reset or bind.
  bool is_null(int column) const;
  Index integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::shared_ptr<SqliteConnection> connection_;  // before the statement, which must go first
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// BEGIN IMMEDIATE on construction (waits for another writer, then throws); what is not committed is rolled
// back on destruction. Must not outlive the database.
class Transaction {
 public:
  explicit Transaction(Database& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace buoy
