// A real collection that changes between queries.
#include "buoy/stress/stress_collection.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "buoy/corpus/collection.h"
#include "buoy/io/test_support.h"
#include "buoy/stress/stress_test_support.h"

namespace buoy {
namespace {

class StressedCollection : public testing::Test {
 protected:
  std::vector<QaItem> query(const std::string& change) const {
    return stress_collection(pool_, chosen_, level_of("collection=" + change), options_, path_);
  }
  bool holds(const QaItem& item, const std::string& phrase) const {
    return std::ranges::any_of(texts_of(item),
                               [&](const std::string& text) { return text.find(phrase) != text.npos; });
  }

  TempDir directory_;
  std::filesystem::path path_ = directory_ / "stress.db";
  std::vector<QaItem> items_ = hand_made_items();
  StressPool pool_{items_};
  std::vector<Index> chosen_ = {0, 3, 12};
  StressOptions options_{.passages = 4};
};

TEST_F(StressedCollection, AsItIsGivesTheGoldDocuments) {
  const std::vector<QaItem> made = query("as-is");
  ASSERT_EQ(made.size(), 3u);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const QaItem& item = items_[static_cast<std::size_t>(chosen_[i])];
    EXPECT_EQ(made[i].question, item.question);
    EXPECT_EQ(made[i].answers, item.answers);
    EXPECT_LE(made[i].passages.size(), 4u);
    EXPECT_EQ(gold_texts(made[i]).size(), gold_texts(item).size()) << item.id;
    EXPECT_TRUE(holds(made[i], item.answers[0]));
  }
  const QaPassage& gold = made[0].passages[static_cast<std::size_t>(gold_positions(made[0])[0] - 1)];
  EXPECT_EQ(text_of(gold, gold.evidence.at(0)), "The mayor of Norbury is Ada Alder.");
}

TEST_F(StressedCollection, WhatIsAddedIsFound) {
  const std::vector<QaItem> as_is = query("as-is"), added = query("added");
  for (std::size_t i = 0; i < added.size(); ++i) EXPECT_TRUE(same(added[i], as_is[i]));
}

TEST_F(StressedCollection, WhatIsChangedSaysTheNewAnswerAndNotTheOld) {
  const std::vector<QaItem> made = query("changed");
  for (std::size_t i = 0; i < made.size(); ++i) {
    const QaItem& item = items_[static_cast<std::size_t>(chosen_[i])];
    ASSERT_EQ(made[i].answers.size(), 1u);
    EXPECT_NE(made[i].answers, item.answers);
    EXPECT_FALSE(holds(made[i], item.answers[0])) << item.id;
    EXPECT_EQ(gold_texts(made[i]).size(), gold_texts(item).size());
    EXPECT_TRUE(holds(made[i], made[i].answers[0])) << item.id;
  }
  const QaPassage& gold = made[0].passages[static_cast<std::size_t>(gold_positions(made[0])[0] - 1)];
  EXPECT_EQ(text_of(gold, gold.evidence.at(0)), "The mayor of Norbury is " + made[0].answers[0] + ".");
}

TEST_F(StressedCollection, WhatIsDeletedIsGoneAlsoWhereAnotherItemSaysIt) {
  items_[5].passages.push_back({.title = "Norbury", .text = "Norbury chose Ada Alder as its mayor."});
  const StressPool pool(items_);
  const auto made = stress_collection(pool, chosen_, level_of("collection=deleted"), options_, path_);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const QaItem& item = items_[static_cast<std::size_t>(chosen_[i])];
    EXPECT_EQ(made[i].answers, item.answers);
    EXPECT_TRUE(gold_positions(made[i]).empty());
    EXPECT_FALSE(holds(made[i], item.answers[0])) << item.id;
    EXPECT_EQ(made[i].passages.empty(), item.id == "two");  // nothing else fits that question
  }
}

TEST_F(StressedCollection, EndsAsItBegan) {
  const std::vector<QaItem> before = query("as-is");
  const Index count = Collection(path_).count();
  EXPECT_EQ(count, 12 * 3 + 4);
  for (const char* change : {"changed", "deleted", "added"}) query(change);
  EXPECT_EQ(Collection(path_).count(), count);
  const std::vector<QaItem> after = query("as-is");
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(same(after[i], before[i]));
}

TEST_F(StressedCollection, GoesOnWhereAKilledRunLeftItAndRefusesOthers) {
  const std::vector<QaItem> before = query("as-is");
  {
    Collection broken(path_, DatabaseAccess::kWrite);
    broken.remove(std::vector<std::string>{"mayor-0/p2"});
    broken.add(std::vector<Document>{{"mayor-3/p2", "Penrith", "The mayor of Penrith is nobody."}});
  }
  const std::vector<QaItem> after = query("as-is");
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(same(after[i], before[i]));
  Collection(path_, DatabaseAccess::kWrite).add(std::vector<Document>{{"stranger", "", "Who is it?"}});
  EXPECT_THROW(query("as-is"), Error);
}

TEST_F(StressedCollection, SaysWhichItemLacksWhat) {
  chosen_ = {1};
  items_[1].answers = {"somebody else"};
  EXPECT_NE(message_of([&] { query("changed"); }).find("item \"mayor-1\": has no gold passage in which"),
            std::string::npos);
}

}  // namespace
}  // namespace buoy
