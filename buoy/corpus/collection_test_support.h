// A small collection, BM25 written out by hand, and what an index must hold.
#pragma once

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "buoy/corpus/collection.h"
#include "buoy/io/test_support.h"

namespace buoy {

using Strings = std::vector<std::string>;

inline const std::vector<Document> kTowns = {
    {"a", "Teldormere", "the mayor of teldormere is ulmar pelgor"},
    {"b", "Gasen", "the mayor of gasen plays the lute and the harp and the drum every night"},
    {"c", "", "mayor mayor mayor"},
    {"d", "Harps", "a harp is a harp"},
    {"e", "Rivers", "the river runs from gasen to teldormere and on to the sea"},
    {"f", "Nothing", "silence"},
    {"g", "Books", "ulmar wrote a book about the river"},
};

inline Strings ids_of(const std::vector<Hit>& hits) {
  Strings ids;
  for (const Hit& hit : hits) ids.push_back(hit.document.id);
  return ids;
}

inline Strings words_of(const std::string& text) {
  std::istringstream stream(text);
  Strings words;
  for (std::string word; stream >> word;) {
    std::ranges::transform(word, word.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
    words.push_back(word);
  }
  return words;
}

// BM25 with k1 = 1.2, b = 0.75 and Lucene's idf, over title and text together. The best first, ties by id.
inline std::vector<std::pair<std::string, double>> bm25(const std::vector<Document>& documents,
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
    const double idf = std::log(1 + (N - n + 0.5) / (n + 0.5));
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
inline std::set<std::string> stored_postings(const Database& database) {
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
inline std::set<std::string> postings_of_documents(const Database& database) {
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

}  // namespace buoy
