// What a database keeps, what a transaction undoes, and what each failure is called.
#include "buoy/io/sqlite.h"

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "buoy/io/file.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

constexpr std::chrono::milliseconds kSoon{20};

Database make_table(const std::filesystem::path& path) {
  Database database(path);
  database.execute("CREATE TABLE t (a, b)");
  return database;
}

TEST(Sqlite, EveryKindOfValueComesBackAsItWas) {
  const TempDir dir;
  Database database = make_table(dir / "a.db");
  const std::string text("n\0ul \xF0\x9F\x8C\x8A", 9);
  Statement insert(database, "INSERT INTO t VALUES (?1, ?2)");
  insert.bind({Index{1} << 62, 0.1}).run();
  insert.bind({text, -0.5}).run();
  insert.bind({std::string_view(), std::monostate()}).run();
  insert.bind({7, Index{-1}}).run();
  EXPECT_EQ(database.changes(), 1);

  Statement rows(database, "SELECT a, b FROM t ORDER BY rowid");
  ASSERT_TRUE(rows.step());
  EXPECT_EQ(rows.integer(0), Index{1} << 62);
  EXPECT_EQ(rows.real(1), 0.1);
  ASSERT_TRUE(rows.step());
  EXPECT_EQ(rows.text(0), text);
  EXPECT_EQ(rows.real(1), -0.5);
  ASSERT_TRUE(rows.step());
  EXPECT_FALSE(rows.is_null(0));
  EXPECT_EQ(rows.text(0), "");
  EXPECT_TRUE(rows.is_null(1));
  ASSERT_TRUE(rows.step());
  EXPECT_EQ(rows.integer(0), 7);
  EXPECT_FALSE(rows.is_null(1));
  EXPECT_FALSE(rows.step());
  EXPECT_TRUE(rows.step()) << "starts over";
}

TEST(Sqlite, WhatIsNotCommittedIsUndone) {
  const TempDir dir;
  Database database = make_table(dir / "a.db");
  {
    Transaction transaction(database);
    database.execute("INSERT INTO t VALUES (1, 1)");
  }
  EXPECT_EQ(database.integer("SELECT count(*) FROM t"), 0);
  {
    Transaction transaction(database);
    database.execute("INSERT INTO t VALUES (1, 1)");
    transaction.commit();
  }
  EXPECT_EQ(database.integer("SELECT count(*) FROM t"), 1);
}

TEST(Sqlite, InWalModeAReaderGoesOnWhileOneWrites) {
  const TempDir dir;
  Database writer = make_table(dir / "a.db");
  Transaction transaction(writer);
  writer.execute("INSERT INTO t VALUES (1, 1)");
  const Database reader(dir / "a.db", {.access = DatabaseAccess::kRead, .busy_timeout = kSoon});
  EXPECT_EQ(reader.integer("SELECT count(*) FROM t"), 0);
  transaction.commit();
  EXPECT_EQ(reader.integer("SELECT count(*) FROM t"), 1);
}

TEST(Sqlite, ASecondWriterGivesUpAfterTheTimeout) {
  const TempDir dir;
  Database first = make_table(dir / "a.db");
  Database second(dir / "a.db", {.busy_timeout = kSoon});
  const Transaction transaction(first);
  EXPECT_EQ(error_of([&] { const Transaction refused(second); }),
            (dir / "a.db").string() + ": is locked by another writer; gave up after 20 ms");
}

TEST(Sqlite, AStatementKeepsItsConnectionOpen) {
  const TempDir dir;
  std::optional<Statement> statement;
  {
    const Database database(dir / "a.db");
    statement.emplace(database, "SELECT 7");
  }
  ASSERT_TRUE(statement->step());
  EXPECT_EQ(statement->integer(0), 7);
}

TEST(Sqlite, NamesThatSqliteWouldReadOtherwiseAreFiles) {
  const TempDir dir;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  for (const char* name : {":memory:", "file:x?mode=memory"}) {
    make_table(name);
    EXPECT_TRUE(std::filesystem::exists(dir / name)) << name;
  }
  std::filesystem::current_path(before);
}

TEST(Sqlite, FailuresNameTheFileAndTheCause) {
  const TempDir dir;
  const DatabaseOptions read{.access = DatabaseAccess::kRead};
  const auto ends = [](const std::string& message, std::string_view tail) {
    return message.ends_with(tail) ? "" : message;
  };
  EXPECT_EQ(ends(error_of([&] { const Database d(dir / "none.db", read); }), "none.db: no such file"), "");
  EXPECT_EQ(ends(error_of([&] { const Database d(dir / "none/a.db"); }), "none: no such folder"), "");
  EXPECT_EQ(ends(error_of([&] { const Database d(dir.path()); }), "is a directory, expected a file"), "");
  EXPECT_EQ(ends(error_of([&] { const Database d(""); }), "expected a file"), "");
  write_file_atomically(dir / "text.db", std::string(5000, 'x'));
  EXPECT_EQ(ends(error_of([&] { const Database d(dir / "text.db"); }), "text.db: is not an SQLite database"),
            "");

  make_table(dir / "a.db");
  Database reader(dir / "a.db", read);
  EXPECT_EQ(ends(error_of([&] { reader.execute("DELETE FROM t"); }),
                 "a.db: cannot write: the file or its folder is read-only"),
            "");
  EXPECT_EQ(ends(error_of([&] { const Statement s(reader, "SELECT x FROM t"); }), "a.db: no such column: x"),
            "");
}

TEST(Sqlite, AFileThatCannotGrowLosesTheTransactionAlone) {
  const TempDir dir;
  Database database = make_table(dir / "a.db");
  database.execute("INSERT INTO t VALUES (1, 1)");
  {
    const FileSizeLimit limit(1 << 18);
    const std::string message = error_of([&] {
      Transaction transaction(database);
      Statement insert(database, "INSERT INTO t VALUES (zeroblob(100000), 2)");
      for (int i = 0; i < 200; ++i) insert.run();
      transaction.commit();
    });
    EXPECT_NE(message.find("a.db: "), message.npos) << message;
    EXPECT_NE(message.find("File too large"), message.npos) << message;
  }
  EXPECT_EQ(database.integer("SELECT count(*) FROM t"), 1);
  database.execute("INSERT INTO t VALUES (1, 1)");
  EXPECT_EQ(database.integer("SELECT count(*) FROM t"), 2);
}

TEST(Sqlite, ADamagedFileIsCalledDamaged) {
  const TempDir dir;
  {
    Database database(dir / "a.db", {.journal = Journal::kRollback});
    database.execute("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(20000))");
  }
  std::string bytes = read_file(dir / "a.db");
  std::fill(bytes.begin() + 4096, bytes.end(), '\x5A');
  write_file_atomically(dir / "a.db", bytes);
  const Database database(dir / "a.db");
  const std::string message = error_of([&] { database.integer("SELECT length(a) FROM t"); });
  EXPECT_NE(message.find("a.db: is damaged"), message.npos) << message;
}

// A view in the place of a table could compute for ever, or read what else it likes.
TEST(Sqlite, AForeignFilesViewsAreNotComputed) {
  const TempDir dir;
  {
    Database database = make_table(dir / "a.db");
    database.execute("CREATE VIEW v AS SELECT a FROM t");
    database.execute(
        "CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x "
        "FROM n");
  }
  const Database database(dir / "a.db", {.access = DatabaseAccess::kRead});
  const std::string said = error_of([&] { database.integer("SELECT count(*) FROM v"); });
  EXPECT_NE(said.find("access to view \"v\" prohibited"), std::string::npos) << said;
  EXPECT_NE(error_of([&] { database.integer("SELECT count(*) FROM endless"); }), "");
}

TEST(Sqlite, AForeignFilesSchemaCannotBeRewritten) {
  const TempDir dir;
  Database database = make_table(dir / "a.db");
  database.execute("PRAGMA writable_schema = ON");
  EXPECT_NE(error_of([&] { database.execute("UPDATE sqlite_master SET sql = 'x'"); }), "(no error)");
}

}  // namespace
}  // namespace buoy
