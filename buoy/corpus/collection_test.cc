// Ranking against BM25 written out by hand; questions that look like syntax; writers that die.
#include "buoy/corpus/collection.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buoy/base/random.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

using Strings = std::vector<std::string>;

const std::vector<Document> kTowns = {
    {"a", "Teldormere", "the mayor of teldormere is ulmar pelgor"},
    {"b", "Gasen", "the mayor of gasen plays the lute and the harp and the drum every night"},
    {"c", "", "mayor mayor mayor"},
    {"d", "Harps", "a harp is a harp"},
    {"e", "Rivers", "the river runs from gasen to teldormere and on to the sea"},
    {"f", "Nothing", "silence"},
    {"g", "Books", "ulmar wrote a book about the river"},
};

Strings ids_of(const std::vector<Hit>& hits) {
  Strings ids;
  for (const Hit& hit : hits) ids.push_back(hit.document.id);
  return ids;
}

Strings words_of(const std::string& text) {
  std::istringstream stream(text);
  Strings words;
  for (std::string word; stream >> word;) {
    std::ranges::transform(word, word.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
    words.push_back(word);
  }
  return words;
}

// BM25 with k1 = 1.2, b = 0.75 and FTS5's idf, over title and text together. The best first, ties by id.
std::vector<std::pair<std::string, double>> bm25(const std::vector<Document>& documents,
                                                 const Strings& terms) {
  std::vector<std::pair<std::string, double>> ranking;
  double total = 0;
  std::vector<Strings> words;
  for (const Document& d : documents) {
    words.push_back(words_of(d.title + " " + d.text));
    total += static_cast<double>(words.back().size());
  }
  const auto N = static_cast<double>(documents.size());
  std::vector<double> scores(documents.size());
  for (const std::string& term : std::set<std::string>(terms.begin(), terms.end())) {
    const auto n = static_cast<double>(
        std::ranges::count_if(words, [&](const Strings& w) { return std::ranges::count(w, term) > 0; }));
    const double idf = std::max(std::log((N - n + 0.5) / (n + 0.5)), 1e-6);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const auto f = static_cast<double>(std::ranges::count(words[i], term));
      const auto length = static_cast<double>(words[i].size());
      scores[i] += idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * length / (total / N)));
    }
  }
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (scores[i] > 0) ranking.emplace_back(documents[i].id, scores[i]);
  }
  std::ranges::sort(ranking, [](const auto& x, const auto& y) {
    return x.second != y.second ? x.second > y.second : x.first < y.first;
  });
  return ranking;
}

// "word row times" of every posting, and "row words" of every document that has some.
std::set<std::string> stored_postings(const Database& database) {
  std::set<std::string> postings;
  Statement lists(database, "SELECT word, block, documents, list FROM postings");
  while (lists.step()) {
    const PostingList list(std::string(lists.text(3)), lists.integer(2), "test");
    for (Index i = 0; i < list.size(); ++i) {
      postings.insert(fmt::format("{} {} {}", lists.text(0),
                                  lists.integer(1) * kBlockDocuments + list.place(i), list.times(i)));
    }
  }
  Statement blocks(database, "SELECT block, words FROM lengths");
  while (blocks.step()) {
    const std::string_view bytes = blocks.text(1);
    for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
      std::uint32_t words = 0;
      std::memcpy(&words, bytes.data() + 4 * i, 4);
      if (words > 0)
        postings.insert(
            fmt::format("{} {}", blocks.integer(0) * kBlockDocuments + static_cast<Index>(i), words));
    }
  }
  Statement totals(database, "SELECT documents, words FROM totals");
  totals.step();
  postings.insert(fmt::format("{} documents of {} words", totals.integer(0), totals.integer(1)));
  return postings;
}

// The same from the documents themselves, whose words stand between spaces.
std::set<std::string> postings_of_documents(const Database& database) {
  std::set<std::string> postings;
  Index documents = 0, all = 0;
  Statement rows(database, "SELECT rowid, title || ' ' || text FROM documents");
  for (; rows.step(); ++documents) {
    const Strings words = words_of(std::string(rows.text(1)));
    std::map<std::string, Index> times;
    for (const std::string& word : words) ++times[word];
    for (const auto& [word, count] : times)
      postings.insert(fmt::format("{} {} {}", word, rows.integer(0), count));
    if (!words.empty()) postings.insert(fmt::format("{} {}", rows.integer(0), words.size()));
    all += std::ssize(words);
  }
  postings.insert(fmt::format("{} documents of {} words", documents, all));
  return postings;
}

class CollectionTest : public testing::Test {
 protected:
  Collection open(DatabaseAccess access = DatabaseAccess::kCreate) {
    return Collection(dir_ / "c.db", access, std::chrono::milliseconds(20));
  }
  Collection towns() {
    Collection collection = open();
    collection.add(kTowns);
    return collection;
  }
  // SQLite's own check, and that the index says what the documents say.
  void expect_whole() {
    Database database(dir_ / "c.db", {.access = DatabaseAccess::kWrite});
    Statement check(database, "PRAGMA integrity_check");
    ASSERT_TRUE(check.step());
    EXPECT_EQ(check.text(0), "ok");
    check.reset();
    EXPECT_EQ(stored_postings(database), postings_of_documents(database));
  }
  TempDir dir_;
};

TEST_F(CollectionTest, ScoresAreBm25WrittenOut) {
  Collection collection = towns();
  for (const std::string question :
       {"ulmar", "mayor", "mayor teldormere", "the harp of gasen", "river ulmar the a"}) {
    const auto expected = bm25(kTowns, words_of(question));
    const std::vector<Hit> hits = collection.search(question, 10);
    ASSERT_EQ(hits.size(), expected.size()) << question;
    for (std::size_t i = 0; i < hits.size(); ++i) {
      EXPECT_EQ(hits[i].document.id, expected[i].first) << question << ", place " << i + 1;
      EXPECT_NEAR(hits[i].score, expected[i].second, 1e-9) << question;
    }
  }
}

TEST_F(CollectionTest, AHitCarriesTheWholeDocument) {
  Collection collection = towns();
  const std::vector<Hit> hits = collection.search("Who is the mayor of Teldormere?", 1);
  ASSERT_EQ(hits.size(), 1U);
  EXPECT_EQ(hits[0].document.title, kTowns[0].title);
  EXPECT_EQ(hits[0].document.text, kTowns[0].text);
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

// Puts a document without words so far on that those after it lie in another block.
void skip_to(const std::filesystem::path& path, Index row) {
  Database database(path);
  Transaction transaction(database);
  Statement(database, "INSERT INTO documents VALUES (?1, ?2, '', '', 0)")
      .bind({row, fmt::format("empty{}", row)})
      .run();
  PostingWriter postings(database);
  postings.add(row, "", "");
  postings.flush();
  transaction.commit();
}

// Words of a made-up text: a few occur in nearly all documents, most in few.
std::string made_text(std::uint32_t number, Index words) {
  std::string text;
  const DrawKey key{.seed = 7, .sample = number};
  for (Index w = 0; w < words; ++w) {
    const double u = uniform(key, static_cast<std::uint64_t>(w));
    text += fmt::format("{}w{}", w > 0 ? " " : "", static_cast<Index>(std::pow(300.0, u)) - 1);
  }
  return text;
}

// Every hit has the score that is written out, nothing better is missing, and ties stand by id.
void expect_best(Collection& collection, const std::vector<Document>& documents, const std::string& question,
                 Index top) {
  const auto expected = bm25(documents, words_of(question));
  const std::map<std::string, double> score(expected.begin(), expected.end());
  const std::vector<Hit> hits = collection.search(question, top);
  ASSERT_EQ(std::ssize(hits), std::min(top, std::ssize(expected))) << question;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    ASSERT_TRUE(score.contains(hits[i].document.id)) << question;
    EXPECT_NEAR(hits[i].score, score.at(hits[i].document.id), 1e-12) << question;
    EXPECT_NEAR(hits[i].score, expected[i].second, 1e-12) << question << ", place " << i + 1;
    if (i > 0 && hits[i].score == hits[i - 1].score) {
      EXPECT_LT(hits[i - 1].document.id, hits[i].document.id) << question;
    }
  }
}

TEST_F(CollectionTest, TheBestAreThoseOfBm25WrittenOutThroughChangesAndOverBlocks) {
  std::vector<Document> documents;
  const auto add = [&](Index count) {
    const std::size_t first = documents.size();
    for (Index i = 0; i < count; ++i) {
      const auto number = static_cast<std::uint32_t>(documents.size());
      documents.push_back({fmt::format("d{:04}", number * 37 % 1000), "", made_text(number, 5 + number % 3)});
    }
    open().add(std::span(documents).subspan(first));
  };
  Collection reader = (add(60), open(DatabaseAccess::kRead));
  const auto ask = [&] {
    for (std::uint32_t q = 0; q < 40; ++q) {
      expect_best(reader, documents, made_text(5000 + q, 1 + q % 6), 1 + q % 7);
    }
  };
  ask();
  for (const Index row : {kBlockDocuments - 30, 3 * kBlockDocuments - 1}) {
    skip_to(dir_ / "c.db", row);
    documents.push_back({fmt::format("empty{}", row), "", ""});
    add(60);
  }
  ask();
  for (std::size_t i = 0; i < documents.size(); i += 5) {
    documents[i].text = made_text(9000 + static_cast<std::uint32_t>(i), 9);
    open().add({&documents[i], 1});
  }
  Strings gone;
  for (std::size_t i = 0; i < documents.size(); i += 7) gone.push_back(documents[i].id);
  open().remove(gone);
  std::erase_if(documents, [&](const Document& d) { return std::ranges::count(gone, d.id) > 0; });
  ask();
  expect_whole();
}

TEST_F(CollectionTest, NoWordIsLeftOutHoweverFrequent) {
  Collection collection = open();
  std::vector<Document> documents;
  for (Index i = 0; i < 2000; ++i)
    documents.push_back({fmt::format("{:06}", i), "", i % 3 == 0 ? "common" : "common other"});
  documents[77].text = "common rare rare";
  documents[78].text = "rare uncommon";
  collection.add(documents);
  expect_best(collection, documents, "common rare", 3);
  expect_best(collection, documents, "common", 2);
  EXPECT_EQ(ids_of(collection.search("common", 2)), (Strings{"000000", "000003"}));
  open().remove(Strings{"000000"});
  EXPECT_EQ(ids_of(collection.search("common", 1)), Strings{"000003"}) << "another's change is seen";
}

TEST_F(CollectionTest, AWordCountsHoweverOftenItStandsInADocument) {
  Collection collection = open();
  std::vector<Document> documents = {{"a", "", "often other"}, {"b", "", "nothing"}, {"c", "", "of it"}};
  for (const Index times : {254, 255, 256, 65535, 65536}) {
    documents.push_back({fmt::format("t{}", times), "", ""});
    for (Index i = 0; i < times; ++i) documents.back().text += "often ";
  }
  collection.add(documents);
  expect_best(collection, documents, "often other", 9);
  expect_whole();
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
