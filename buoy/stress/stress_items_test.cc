// Which items can be stressed, and what holds for every stressor on all of MicroWorld's tasks.
#include <algorithm>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "buoy/stress/stress.h"
#include "buoy/stress/stress_test_support.h"
#include "buoy/world/world_item.h"

namespace buoy {
namespace {

using Indices = std::vector<Index>;
using Strings = std::vector<std::string>;

TEST(StressedItems, AreThoseThatHaveWhatIsNeeded) {
  const std::vector<QaItem> items = hand_made_items();
  Strings warnings;
  const auto chosen = [&](const std::string& spec) {
    return items_for(parse_stress(spec, {}), "towns", items, {},
                     [&](const std::string& line) { warnings.push_back(line); });
  };
  EXPECT_EQ(chosen("irrelevant").size(), items.size());
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(chosen("hop-distance"), Indices{12});
  EXPECT_EQ(chosen("passages").size(), 12u);  // one passage cannot hold two gold ones
  EXPECT_EQ(chosen("passages=2,5").size(), 13u);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0],
            "towns: hop-distance leaves out 12 of 13 items, since it needs exactly two gold passages; item "
            "\"mayor-0\" has 1 gold passage, expected exactly 2");
}

TEST(StressedItems, ADatasetThatLacksWhatIsNeededIsAnErrorThatSaysWhat) {
  std::vector<QaItem> items = hand_made_items();
  items.pop_back();
  const auto error = [&](const std::string& spec) {
    return message_of([&] { items_for(parse_stress(spec, {}), "towns", items, {}, {}); });
  };
  EXPECT_NE(error("hop-order").find("towns: cannot be stressed with hop-order, which needs exactly two gold"),
            std::string::npos)
      << error("hop-order");
  for (QaItem& item : items) {
    for (QaPassage& passage : item.passages) passage.gold = false;
  }
  for (const Stressor& stressor : stressors()) {
    const bool needs_gold = stressor.needs.find("gold") != std::string_view::npos;
    const std::string message = error(std::string(stressor.name));
    EXPECT_EQ(message.find("has no gold passage") != std::string::npos, needs_gold) << message;
  }
  for (QaItem& item : items) item.passages.clear();
  for (const char* name : {"typos", "query-place", "irrelevant", "passages"}) {
    EXPECT_NE(error(name).find("has no passages"), std::string::npos) << error(name);
  }
  EXPECT_EQ(error("steps"), "no UsageError was thrown");
}

TEST(StressedItems, AnAnswerThatNamesTheSubjectCannotBeAnothers) {
  std::vector<QaItem> items = hand_made_items();
  items[0].answers = {"The mayor of Norbury is Ada Alder."};
  for (const char* name : {"contradictions", "near-duplicates", "collection=changed"}) {
    const Indices chosen = items_for(parse_stress(name, {}), "towns", items, {}, {});
    EXPECT_EQ(std::ranges::count(chosen, 0), 0) << name;
    EXPECT_EQ(std::ranges::count(chosen, 1), 1) << name;
  }
}

QaItem from_world(const WorldItem& made) {
  QaItem item{.id = std::to_string(made.index),
              .task = std::string(name_of(made.task)),
              .question = made.question,
              .answers = {made.answer}};
  for (const Passage& p : made.passages) {
    QaPassage passage{.title = p.title, .text = p.text, .gold = p.role == PassageRole::kGold};
    passage.evidence = p.evidence;
    item.passages.push_back(std::move(passage));
  }
  return item;
}

std::vector<QaItem> world_items(Index count) {
  ItemSettings settings{.seed = 77};
  settings.tasks = {WorldTask::kSingle, WorldTask::kReverse, WorldTask::kSlot, WorldTask::kLong,
                    WorldTask::kMultihop};
  settings.worlds = {WorldKind::kKnown, WorldKind::kNovel};
  settings.passages = 7;
  const World known = make_known_world();
  std::vector<QaItem> items;
  for (Index i = 0; i < count; ++i) items.push_back(from_world(make_item(known, settings, i)));
  return items;
}

const std::set<std::string_view> kChangesGold = {"typos", "dropped-words", "shuffled-words", "gold-replaced",
                                                 "split-sentences"};
const std::set<std::string_view> kMovesGold = {"gold-position", "hop-distance", "passages", "split-sentences",
                                               "gold-replaced"};
const std::set<std::string_view> kChangesCount = {"passages", "split-sentences"};

// Texts of gold passages and of their evidence, sorted.
Strings gold_words(const QaItem& item) {
  Strings out = gold_texts(item);
  for (const QaPassage& passage : item.passages) {
    for (const TextSpan& span : passage.evidence) out.push_back(text_of(passage, span));
  }
  std::ranges::sort(out);
  return out;
}

void expect_valid(const QaItem& item) {
  for (const QaPassage& passage : item.passages) {
    EXPECT_FALSE(passage.text.empty());
    EXPECT_TRUE(passage.gold || passage.evidence.empty());
    for (const TextSpan& span : passage.evidence) {
      EXPECT_LE(0, span.begin);
      EXPECT_LE(span.begin, span.end);
      EXPECT_LE(span.end, count_code_points(passage.text));
    }
  }
}

class EveryStressor : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryStressor, KeepsWhatItIsNotAbout) {
  static const std::vector<QaItem> items = world_items(80);
  const StressPool pool(items), again(items);
  const StressOptions options{.passages = 7, .seed = 5};
  const std::string name(GetParam());
  const std::vector<StressLevel> levels = parse_stress(name, options);
  const Indices chosen = items_for(levels, "micro", items, options, {});
  EXPECT_GE(chosen.size(), 16u);
  Index changed = 0;
  for (const Index number : chosen) {
    const QaItem& item = items[static_cast<std::size_t>(number)];
    const QaItem baseline = stress_item(item, number, levels[0], pool, options);
    for (const StressLevel& level : levels) {
      SCOPED_TRACE(level.name() + " of item " + item.id);
      const QaItem made = stress_item(item, number, level, pool, options);
      EXPECT_TRUE(same(made, stress_item(item, number, level, again, options)));
      EXPECT_EQ(made.id + made.task + made.question, item.id + item.task + item.question);
      EXPECT_EQ(made.answers, item.answers);
      expect_valid(made);
      if (!kChangesGold.contains(name)) {
        EXPECT_EQ(gold_words(made), gold_words(item));
      }
      if (!kMovesGold.contains(name)) {
        EXPECT_EQ(gold_positions(made), gold_positions(baseline));
      }
      if (!kChangesCount.contains(name)) {
        EXPECT_EQ(made.passages.size(), baseline.passages.size());
      }
      changed += !same(made, baseline);
    }
  }
  EXPECT_GT(changed, std::ssize(chosen) / 2);
}

std::vector<std::string_view> item_stressors() {
  std::vector<std::string_view> names;
  for (const Stressor& stressor : stressors()) {
    if (stressor.target == StressTarget::kItem) names.push_back(stressor.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(OnMicroWorld, EveryStressor, testing::ValuesIn(item_stressors()),
                         [](const auto& each) {
                           std::string name(each.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace buoy
