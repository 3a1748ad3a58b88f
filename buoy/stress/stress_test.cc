// Every stressor on items made by hand: what must change changes, what must not does not.
#include "buoy/stress/stress.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "buoy/stress/stress_test_support.h"

namespace buoy {
namespace {

class Stress : public testing::Test {
 protected:
  QaItem apply(const std::string& spec, Index number = 0) const {
    return stress_item(items_[static_cast<std::size_t>(number)], number, level_of(spec, options_), pool_,
                       options_);
  }
  const QaItem& first() const { return items_[0]; }
  static constexpr Index kTwoHops = 12;

  std::vector<QaItem> items_ = hand_made_items();
  StressPool pool_{items_};
  StressOptions options_{.passages = 5};
};

using Strings = std::vector<std::string>;

TEST_F(Stress, IrrelevantPassagesTakeThePlaceOfOthersAndNeverOfGold) {
  EXPECT_TRUE(same(apply("irrelevant=0"), first()));
  const Strings own = texts_of(first());
  const Strings third = texts_of(apply("irrelevant=0.4")), all = texts_of(apply("irrelevant=1"));
  ASSERT_EQ(third.size(), 3u);
  EXPECT_EQ(third[1], own[1]);
  EXPECT_EQ(all[1], own[1]);
  EXPECT_EQ((third[0] != own[0]) + (third[2] != own[2]), 1);  // round(0.4 · 3)
  EXPECT_EQ((all[0] != own[0]) + (all[2] != own[2]), 2);      // round(1 · 3), less the gold one
  EXPECT_EQ(texts_of(apply("irrelevant=0.6")), all);          // round(0.6 · 3)
  // What was irrelevant stays so when there is more of it.
  const std::size_t changed = third[0] != own[0] ? 0 : 2;
  EXPECT_EQ(all[changed], third[changed]);
  for (const std::size_t place : {0u, 2u}) {
    EXPECT_EQ(all[place].find("Norbury"), std::string::npos);
    EXPECT_EQ(all[place].find("Ada Alder"), std::string::npos);
  }
}

TEST_F(Stress, ForeignPassagesNeverHoldTheAnswer) {
  std::vector<QaItem> items = {first(), first(), items_[1]};
  items[1].id = "copy";
  items[1].passages[0] = {.title = "Elsewhere", .text = "It is said that ada alder rules Norbury."};
  const StressPool pool(items);
  const StressOptions options{.passages = 3};
  const QaItem made = stress_item(items[0], 0, level_of("irrelevant=1", options), pool, options);
  for (const std::string& text : texts_of(made)) EXPECT_EQ(text.find("ada alder"), std::string::npos);
  // Two of the third item's passages can be put in; the last one has the title of one of its own.
  EXPECT_EQ(stress_item(items[0], 0, level_of("passages=5"), pool, options).passages.size(), 5u);
  EXPECT_NE(message_of([&] {
              stress_item(items[0], 0, level_of("passages=6"), pool, options);
            }).find("item \"mayor-0\": 3 passages of other items are needed, but only 2"),
            std::string::npos);
}

TEST_F(Stress, NearDuplicatesSpeakOfAnotherThingAndGiveAnotherAnswer) {
  const QaItem baseline = apply("near-duplicates=0"), made = apply("near-duplicates=3");
  ASSERT_EQ(made.passages.size(), 5u);
  EXPECT_EQ(gold_positions(made), gold_positions(baseline));
  EXPECT_EQ(gold_texts(made), gold_texts(first()));
  Strings copies;
  for (const QaPassage& p : made.passages) {
    if (p.gold || p.text.find("Nobody knows why.") == std::string::npos) continue;
    EXPECT_EQ(p.text.find("Norbury"), std::string::npos) << p.text;
    EXPECT_EQ(p.text.find("Ada Alder"), std::string::npos) << p.text;
    EXPECT_TRUE(
        p.text.starts_with("É vero: " + p.title + " lies on a hill. The mayor of " + p.title + " is "))
        << p.text;
    EXPECT_TRUE(p.evidence.empty());
    copies.push_back(p.text);
  }
  // Foreign gold passages may be in the prompt too: they end the same. Three more than at level 0.
  const auto count = [](const QaItem& item) {
    return std::ranges::count_if(texts_of(item), [](const std::string& t) { return t.ends_with("why."); });
  };
  EXPECT_GE(count(made), 4);
  EXPECT_EQ(std::set<std::string>(copies.begin(), copies.end()).size(), copies.size());
}

TEST_F(Stress, ContradictionsDifferFromGoldInTheAnswerAlone) {
  const QaItem made = apply("contradictions=2");
  ASSERT_EQ(made.passages.size(), 5u);
  std::set<std::string> answers;
  const std::string before = "É vero: Norbury lies on a hill. The mayor of Norbury is ",
                    after = ". Nobody knows why.";
  for (const QaPassage& p : made.passages) {
    if (p.gold || !p.text.starts_with(before)) continue;
    ASSERT_TRUE(p.text.ends_with(after)) << p.text;
    answers.insert(p.text.substr(before.size(), p.text.size() - before.size() - after.size()));
  }
  EXPECT_EQ(answers.size(), 2u);
  EXPECT_FALSE(answers.contains("Ada Alder"));
  for (const std::string& answer : answers) {
    const auto is_its = [&](const QaItem& item) { return item.task == "mayor" && item.answers[0] == answer; };
    EXPECT_TRUE(std::ranges::any_of(items_, is_its)) << answer << " is no other item's";
  }
  EXPECT_EQ(gold_texts(made), gold_texts(first()));
}

TEST_F(Stress, TyposTouchEveryWordAtRateOne) {
  EXPECT_TRUE(same(apply("typos=0"), first()));
  const QaItem made = apply("typos=1"), some = apply("typos=0.5");
  Index touched = 0, total = 0;
  for (std::size_t p = 0; p < 3; ++p) {
    const Strings old = words_of(first().passages[p].text), now = words_of(made.passages[p].text),
                  half = words_of(some.passages[p].text);
    ASSERT_EQ(now.size(), old.size());
    for (std::size_t w = 0; w < old.size(); ++w) {
      EXPECT_NE(now[w], old[w]);
      if (half[w] == old[w]) continue;
      EXPECT_EQ(half[w], now[w]);  // the same error at every rate
      ++touched;
    }
    total += std::ssize(old);
  }
  EXPECT_GT(touched, total / 5);
  EXPECT_LT(touched, total * 4 / 5);
  EXPECT_EQ(gold_positions(made), (std::vector<Index>{2}));
  // The evidence still is the words it was, typing errors and all.
  const QaPassage& gold = made.passages[1];
  const Strings words = words_of(gold.text);
  const Strings evidence = words_of(text_of(gold, gold.evidence.at(0)));
  EXPECT_EQ(evidence, Strings(words.begin() + 7, words.begin() + 14));
}

TEST_F(Stress, DroppedWordsLeaveTheOthersInOrder) {
  EXPECT_TRUE(same(apply("dropped-words=0"), first()));
  const QaItem made = apply("dropped-words=0.5");
  for (std::size_t p = 0; p < 3; ++p) {
    const Strings old = words_of(first().passages[p].text), now = words_of(made.passages[p].text);
    EXPECT_LT(now.size(), old.size());
    auto at = old.begin();
    for (const std::string& word : now) {
      at = std::find(at, old.end(), word);
      ASSERT_NE(at++, old.end()) << word;
    }
  }
  // One word is left at rate 1. Evidence without words is an empty span, not "everything".
  Index with_words = 0, without = 0;
  for (Index number = 0; number < kTwoHops; ++number) {
    const QaPassage& old = items_[static_cast<std::size_t>(number)].passages[1];
    const QaItem bare = apply("dropped-words=1", number);
    for (const std::string& text : texts_of(bare)) EXPECT_EQ(words_of(text), Strings{text});
    const QaPassage& now = bare.passages[1];
    ASSERT_EQ(now.evidence.size(), 1u);
    const std::string left = text_of(now, now.evidence[0]);
    const Strings words = words_of(text_of(old, old.evidence[0]));
    if (std::ranges::find(words, now.text) == words.end()) {
      EXPECT_EQ(left, "");
      ++without;
    } else if (now.text != old.title) {  // which stands outside of the evidence too
      EXPECT_EQ(left, now.text);
      ++with_words;
    }
  }
  EXPECT_GT(with_words, 0);
  EXPECT_GT(without, 0);
}

TEST_F(Stress, ShuffledWordsStayInTheirSentence) {
  EXPECT_TRUE(same(apply("shuffled-words=0"), first()));
  for (Index number = 0; number < kTwoHops; ++number) {
    const QaItem made = apply("shuffled-words=1", number);
    const QaPassage &old = items_[static_cast<std::size_t>(number)].passages[1], &now = made.passages[1];
    const Strings a = words_of(old.text), b = words_of(now.text);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t w = 0; w < a.size(); ++w) EXPECT_NE(a[w], b[w]);
    Strings old_evidence = words_of(text_of(old, old.evidence[0])),
            evidence = words_of(text_of(now, now.evidence.at(0)));
    std::ranges::sort(old_evidence);
    std::ranges::sort(evidence);
    EXPECT_EQ(evidence, old_evidence);
  }
}

TEST_F(Stress, GoldIsReplacedByForeignPassages) {
  EXPECT_TRUE(same(apply("gold-replaced=0"), first()));
  const QaItem made = apply("gold-replaced=1"), two = apply("gold-replaced=1", kTwoHops);
  EXPECT_TRUE(gold_positions(made).empty() && gold_positions(two).empty());
  EXPECT_EQ(texts_of(made)[0], texts_of(first())[0]);
  EXPECT_NE(texts_of(made)[1], texts_of(first())[1]);
  EXPECT_EQ(texts_of(two)[3], "It never snows.");
  EXPECT_NE(texts_of(two)[0], texts_of(two)[2]);
}

TEST_F(Stress, GoldStandsWhereTheLevelSays) {
  Strings others;
  for (const std::string position : {"1", "2", "3", "4", "5"}) {
    QaItem made = apply("gold-position=" + position);
    ASSERT_EQ(made.passages.size(), 5u);
    EXPECT_EQ(gold_positions(made), (std::vector<Index>{std::stoll(position)}));
    std::erase_if(made.passages, [](const QaPassage& p) { return p.gold; });
    if (others.empty()) others = texts_of(made);
    EXPECT_EQ(texts_of(made), others);  // the same, in the same order
  }
  EXPECT_EQ(gold_positions(apply("gold-position=2", kTwoHops)), (std::vector<Index>{2, 3}));
  EXPECT_EQ(gold_positions(apply("gold-position=5", kTwoHops)), (std::vector<Index>{4, 5}));
  EXPECT_EQ(gold_texts(apply("gold-position=5", kTwoHops)), gold_texts(two_hop_item()));
}

TEST_F(Stress, HopsStandAsFarApartAndInTheOrderThatIsAsked) {
  EXPECT_EQ(gold_positions(apply("hop-distance=0", kTwoHops)), (std::vector<Index>{2, 3}));
  EXPECT_EQ(gold_positions(apply("hop-distance=1", kTwoHops)), (std::vector<Index>{2, 4}));
  EXPECT_EQ(gold_positions(apply("hop-distance=3", kTwoHops)), (std::vector<Index>{1, 5}));
  EXPECT_EQ(gold_texts(apply("hop-distance=3", kTwoHops)), gold_texts(two_hop_item()));
  const QaItem forward = apply("hop-order=forward", kTwoHops), reverse = apply("hop-order=reverse", kTwoHops);
  EXPECT_TRUE(same(reverse, two_hop_item()));  // it gives the answer first
  EXPECT_EQ(gold_positions(forward), gold_positions(reverse));
  EXPECT_EQ(gold_texts(forward)[0], "Isva Orlin came from Kalt.");
  EXPECT_EQ(gold_texts(forward)[1], "Kalt lies in Greyshore. It is small.");
}

TEST_F(Stress, SentencesOfGoldBecomePassages) {
  EXPECT_TRUE(same(apply("split-sentences=0"), first()));
  const QaItem made = apply("split-sentences=1");
  ASSERT_EQ(made.passages.size(), 5u);
  EXPECT_EQ(gold_texts(made), Strings{"The mayor of Norbury is Ada Alder."});
  const QaPassage& gold = made.passages[static_cast<std::size_t>(gold_positions(made)[0] - 1)];
  EXPECT_EQ(text_of(gold, gold.evidence.at(0)), gold.text);
  Strings texts = texts_of(made),
          expected = {"The mayor of Norbury is Ada Alder.", "É vero: Norbury lies on a hill.",
                      "Nobody knows why.", texts_of(first())[0], texts_of(first())[2]};
  // The others keep their order around the gold sentence.
  const auto place = [&](const std::string& text) { return std::ranges::find(texts, text) - texts.begin(); };
  EXPECT_LT(place(expected[3]), place(expected[0]));
  EXPECT_LT(place(expected[0]), place(expected[4]));
  std::ranges::sort(texts);
  std::ranges::sort(expected);
  EXPECT_EQ(texts, expected);
  // Nothing is marked in the second gold passage, so all of it counts.
  EXPECT_EQ(gold_texts(apply("split-sentences=1", kTwoHops)).size(), 2u);
}

TEST_F(Stress, ContextGrowsAroundTheGoldPassage) {
  Strings before;
  for (const std::string count : {"1", "2", "3", "6", "20"}) {
    const QaItem made = apply("passages=" + count);
    ASSERT_EQ(made.passages.size(), std::stoul(count));
    EXPECT_EQ(gold_texts(made), gold_texts(first()));
    Strings texts = texts_of(made);
    std::ranges::sort(texts);
    EXPECT_TRUE(std::ranges::includes(texts, before));  // nothing goes when more comes
    before = texts;
  }
  const Strings three = texts_of(apply("passages=3"));
  EXPECT_TRUE(std::ranges::is_permutation(three, texts_of(first())));  // its own come first
  EXPECT_THROW(apply("passages=1", kTwoHops), UsageError);
}

TEST_F(Stress, OtherTargetsOnlyCutTheItem) {
  options_.passages = 2;
  for (const std::string spec : {"query-place=before", "steps=4"}) {
    const QaItem made = apply(spec);
    EXPECT_EQ(texts_of(made), (Strings{texts_of(first())[0], texts_of(first())[1]})) << spec;
  }
  EXPECT_EQ(query_place(level_of("query-place=before")), QueryPlace::kBeforePassages);
  EXPECT_EQ(query_place(level_of("query-place=after")), QueryPlace::kAfterPassages);
  EXPECT_EQ(query_place(level_of("steps=4")), QueryPlace::kAsWritten);
}

TEST_F(Stress, DrawsDependOnSeedAndNumberAlone) {
  const QaItem once = apply("typos=0.5");
  EXPECT_TRUE(same(once, apply("typos=0.5")));
  options_.seed = 1;
  EXPECT_FALSE(same(once, apply("typos=0.5")));
  options_.seed = 0;
  EXPECT_FALSE(same(once, stress_item(first(), 1, level_of("typos=0.5"), pool_, options_)));
}

}  // namespace
}  // namespace buoy
