// Ranking against BM25 written out by hand, through changes of the collection.
#include <algorithm>
#include <cmath>

#include "buoy/base/random.h"
#include "buoy/corpus/collection_test_support.h"

namespace buoy {
namespace {

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

// Of a few documents most words are in half of them and more; they must not stand aside for the order of ids.
TEST_F(CollectionTest, WordsOfMostDocumentsStillCount) {
  Collection collection = open();
  const std::vector<Document> documents = {{"a", "", "The mayor of Ulmar is Tor. Ulmar lies by the sea."},
                                           {"b", "", "The mayor of Gasen is Ada. The mayor is old."},
                                           {"c", "", "Ulmar and Gasen trade salt."}};
  collection.add(documents);
  const std::vector<Hit> hits = collection.search("mayor of Gasen", 3);
  ASSERT_EQ(hits.size(), 3U);
  EXPECT_EQ(hits[0].document.id, "b");
  EXPECT_GT(hits[0].score, 0.4);
  EXPECT_GT(hits[0].score, hits[1].score + 0.1);
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

}  // namespace
}  // namespace buoy
