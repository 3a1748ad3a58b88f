// What a collection keeps; questions that look like syntax; writers that die.
#include "buoy/corpus/collection.h"

#include <algorithm>
#include <csignal>
#include <map>

#include <sys/wait.h>
#include <unistd.h>

#include "buoy/corpus/collection_test_support.h"

namespace buoy {
namespace {

TEST_F(CollectionTest, AHitCarriesTheWholeDocument) {
  Collection collection = towns();
  const std::vector<Hit> hits = collection.search("Who is the mayor of Teldormere?", 1);
  ASSERT_EQ(hits.size(), 1U);
  EXPECT_EQ(hits[0].document.title, kTowns[0].title);
  EXPECT_EQ(hits[0].document.text, kTowns[0].text);
}

TEST_F(CollectionTest, RefusesDocumentsWordsAndTablesThatNoCollectionHas) {
  { towns(); }
  const auto after = [&](const std::string& sql, const auto& work) {
    Database(dir_ / "c.db", {.access = DatabaseAccess::kWrite}).execute(sql);
    try {
      Collection collection = open();
      work(collection);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  const auto search = [](Collection& c) { c.search("mayor of Teldormere", 3); };
  const auto remove = [](Collection& c) { c.remove(Strings{"a"}); };
  EXPECT_NE(after("UPDATE documents SET rowid = -5 WHERE id = 'a'", remove)
                .find("damaged: a document has the number -5"),
            std::string::npos);
  EXPECT_NE(after("UPDATE totals SET documents = -1", search).find("damaged: its totals are -1"),
            std::string::npos);
  EXPECT_NE(
      after("UPDATE totals SET documents = 7; UPDATE postings SET documents = 0 WHERE word = 'mayor'", search)
          .find("damaged: the counts of a word"),
      std::string::npos);
  EXPECT_NE(after("CREATE INDEX more ON documents(hex(zeroblob(100)))", search).find("holds \"more\""),
            std::string::npos);
}

TEST_F(CollectionTest, ARepeatedWordCountsOnce) {
  Collection collection = towns();
  EXPECT_EQ(collection.search("ulmar Ulmar ULMAR úlmar", 1)[0].score, collection.search("ulmar", 1)[0].score);
}

TEST_F(CollectionTest, UpdatingChangesWhatIsFound) {
  Collection collection = towns();
  const std::vector<Document> changed = {{"f", "Nothing", "a whistle"}, kTowns[0], {"h", "", "new"}};
  const AddCounts counts = collection.add(changed);
  EXPECT_EQ(counts.added, 1);
  EXPECT_EQ(counts.updated, 1);
  EXPECT_EQ(counts.unchanged, 1);
  EXPECT_EQ(collection.count(), 8);
  EXPECT_TRUE(collection.search("silence", 5).empty());
  EXPECT_EQ(ids_of(collection.search("whistle", 5)), Strings{"f"});
  EXPECT_EQ(collection.get("f")->text, "a whistle");
  expect_whole();
}

TEST_F(CollectionTest, DeletingRemovesAllThatAreNamedOrNone) {
  Collection collection = towns();
  EXPECT_EQ(error_of([&] {
              collection.remove(Strings{"a", "zz"});
            }),
            (dir_ / "c.db").string() + ": has no document \"zz\"");
  EXPECT_EQ(collection.count(), 7);
  collection.remove(Strings{"a", "d"});
  EXPECT_EQ(collection.count(), 5);
  EXPECT_FALSE(collection.get("a"));
  EXPECT_EQ(ids_of(collection.search("teldormere harp", 5)), (Strings{"e", "b"}));
  expect_whole();
}

TEST_F(CollectionTest, DeletingByPrefixKnowsIdsApart) {
  Collection collection = open();
  collection.add(std::vector<Document>{
      {"x#1", "", "w"}, {"x#2", "", "w"}, {"x#é", "", "w"}, {"x$", "", "w"}, {"x", "", "w"}});
  EXPECT_EQ(collection.remove_prefix("x#"), 3);
  EXPECT_EQ(ids_of(collection.search("w", 9)), (Strings{"x", "x$"}));
}

TEST_F(CollectionTest, TiesStandInOrderOfIdsHoweverTheyCame) {
  Collection collection = open();
  for (const char* id : {"m", "z", "a", "k", "b"})
    collection.add(std::vector<Document>{{id, "", "same words"}});
  EXPECT_EQ(ids_of(collection.search("words", 3)), (Strings{"a", "b", "k"}));
  EXPECT_EQ(ids_of(collection.search("words", 9)), (Strings{"a", "b", "k", "m", "z"}));
}

TEST_F(CollectionTest, SyntaxInAQuestionIsText) {
  Collection collection = towns();
  const Strings plain = ids_of(collection.search("mayor silence", 9));
  using namespace std::string_literals;
  for (const std::string& question :
       {"mayor \"silence"s, "\"mayor\" + silence^"s, "mayor* silence*"s, "title:mayor {text}:silence"s,
        "(mayor (silence"s, "mayor'; DROP TABLE documents; -- silence"s, "mayor\0silence"s,
        "mayor \U0001F30A silence \xFF\xFE"s}) {
    const Strings found = ids_of(collection.search(question, 9));
    for (const std::string& id : plain) EXPECT_TRUE(std::ranges::count(found, id)) << question;
  }
  EXPECT_TRUE(collection.search("mayor*", 9).size() == collection.search("mayor", 9).size());
  EXPECT_TRUE(collection.search("may*", 9).empty()) << "no prefix search";
  EXPECT_EQ(ids_of(collection.search("silence NOT nothing", 9)), Strings{"f"}) << "NOT is a word";
  EXPECT_EQ(collection.search("ulmar AND silence", 9).size(), 5U) << "and AND another, that b and e hold";
  EXPECT_NO_THROW(collection.search("NEAR(mayor gasen, 2) NEAR( OR OR AND", 9));
  EXPECT_EQ(collection.count(), 7);
}

TEST_F(CollectionTest, AQuestionWithoutWordsFindsNothing) {
  Collection collection = towns();
  using namespace std::string_literals;
  for (const std::string& question :
       {""s, " \t\n"s, "?!\"'*()"s, "\U0001F30A"s, "\0\0"s, "\xCC\x81"s, "\xFF"s, "unheardof"s}) {
    EXPECT_TRUE(collection.search(question, 5).empty()) << question;
  }
  EXPECT_TRUE(collection.search("mayor", 0).empty());
}

TEST_F(CollectionTest, LongQuestionsAreCutAtAFixedNumberOfWords) {
  Collection collection = towns();
  std::string question;
  for (int i = 0; i < 2000; ++i) question += fmt::format("w{} ", i);
  EXPECT_EQ(std::ssize(query_terms(FtsWords(), question)), kMaxQueryTerms);
  EXPECT_EQ(ids_of(collection.search("silence " + question, 5)), Strings{"f"});
  EXPECT_TRUE(collection.search(std::string(10'000, 'x'), 5).empty());
  EXPECT_EQ(ids_of(collection.search(std::string(10'000, '"') + "silence", 5)), Strings{"f"});
}

TEST_F(CollectionTest, CaseAndDiacriticsAreFolded) {
  Collection collection = open();
  collection.add(std::vector<Document>{{"1", "", "Việt Nam"},
                                       {"2", "", "CAFÉ"},
                                       {"3", "", "Straße"},
                                       {"4", "", "ПРИВЕТ"},
                                       {"5", "", "हिन्दी भाषा"}});
  const std::map<std::string, Strings> cases = {{"viet", {"1"}},   {"cafe", {"2"}}, {"cafe\xCC\x81", {"2"}},
                                                {"straße", {"3"}}, {"strasse", {}}, {"привет", {"4"}},
                                                {"हिन्दी", {"5"}},  {"हन्द", {}}};
  for (const auto& [question, expected] : cases)
    EXPECT_EQ(ids_of(collection.search(question, 5)), expected) << question;
}

TEST_F(CollectionTest, ReadersSeeWholeTransactionsWhileOneWrites) {
  Collection writer = towns();
  Database other(dir_ / "c.db");
  Collection reader = open(DatabaseAccess::kRead);
  Transaction transaction(other);
  other.execute(
      "DELETE FROM documents; DELETE FROM postings; DELETE FROM lengths; UPDATE totals SET documents = 0, "
      "words = 0");
  EXPECT_EQ(ids_of(reader.search("silence", 5)), Strings{"f"});
  EXPECT_EQ(reader.count(), 7);
  EXPECT_NE(error_of([&] { writer.add(kTowns); }).find("is locked by another writer"), std::string::npos);
  transaction.commit();
  EXPECT_TRUE(reader.search("silence", 5).empty());
  EXPECT_EQ(reader.count(), 0);
}

TEST_F(CollectionTest, OtherFilesAreRefusedAndLeftAsTheyAre) {
  {
    Database database(dir_ / "c.db", {.journal = Journal::kRollback});
    database.execute("CREATE TABLE t (a)");
  }
  for (const DatabaseAccess access : {DatabaseAccess::kCreate, DatabaseAccess::kRead}) {
    EXPECT_NE(error_of([&] { open(access); }).find("c.db: is a database, but not a document collection"),
              std::string::npos);
  }
  Statement journal(Database(dir_ / "c.db", {.access = DatabaseAccess::kRead}), "PRAGMA journal_mode");
  ASSERT_TRUE(journal.step());
  EXPECT_EQ(journal.text(0), "delete");
}

TEST_F(CollectionTest, AnotherVersionIsRefused) {
  towns();
  Database(dir_ / "c.db").execute("PRAGMA user_version = 1");
  EXPECT_NE(
      error_of([&] { open(); }).find("of version 1, made by another version of buoy; expected version 2"),
      std::string::npos);
}

TEST_F(CollectionTest, DocumentsThatCannotBeKeptAreRefused) {
  Collection collection = towns();
  EXPECT_NE(error_of([&] {
              collection.add(std::vector<Document>{{"h", "", "x"}, {"", "", "x"}});
            }).find("empty id"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              collection.add(std::vector<Document>{{"h", "", "x\xFF"}});
            }).find("UTF-8 at byte 1"),
            std::string::npos);
  EXPECT_EQ(collection.count(), 7);
}

constexpr Index kBatch = 50;

// Adds batch after batch, and never returns.
[[noreturn]] void add_until_killed(const std::filesystem::path& path, Index first) {
  Collection collection(path, DatabaseAccess::kCreate);
  for (Index batch = first;; ++batch) {
    std::vector<Document> documents;
    for (Index i = 0; i < kBatch; ++i) {
      documents.push_back(
          {fmt::format("{}/{}", batch, i), "", fmt::format("batch{} word{} again", batch, i)});
    }
    collection.add(documents);
  }
}

TEST_F(CollectionTest, AKilledWriterLeavesWholeBatches) {
  Index before = 0;
  const auto count_now = [&]() -> Index {
    try {
      return open(DatabaseAccess::kRead).count();
    } catch (const Error&) {
      return 0;  // not yet made, or being made
    }
  };
  for (int round = 0; round < 4; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) add_until_killed(dir_ / "c.db", before / kBatch);
    for (int look = 0; look < 3000 && count_now() <= before; ++look) ::usleep(10'000);
    ::usleep(7'000 * static_cast<unsigned>(round));  // so that it falls anywhere in a batch
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";

    Collection collection = open();
    const Index count = collection.count();
    EXPECT_GT(count, before) << "nothing came in 30 s";
    EXPECT_EQ(count % kBatch, 0);
    if (count > 0) {
      EXPECT_EQ(std::ssize(collection.search(fmt::format("batch{}", count / kBatch - 1), 100)), kBatch);
    }
    expect_whole();
    before = count;
  }
}

// A stranger's file may hold triggers of its own, or a view in the place of the documents.
TEST(ForeignCollection, ThatDoesMoreThanACollectionIsRefused) {
  for (const char* more :
       {"CREATE TRIGGER more AFTER INSERT ON documents BEGIN DELETE FROM documents; END",
        "DROP TABLE documents; CREATE VIEW documents AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x "
        "+ 1 "
        "FROM n) SELECT x AS rowid, x AS id, x AS title, x AS text, x AS updated FROM n"}) {
    const TempDir dir;
    { const Collection made(dir / "c.db", DatabaseAccess::kCreate); }
    Database(dir / "c.db").execute(more);
    for (const DatabaseAccess access : {DatabaseAccess::kRead, DatabaseAccess::kWrite}) {
      const std::string said = error_of([&] { Collection(dir / "c.db", access); });
      EXPECT_NE(said.find("which is no part of a collection"), std::string::npos) << said;
    }
  }
}

}  // namespace
}  // namespace buoy
