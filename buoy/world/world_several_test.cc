#include <algorithm>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/text/tokenizer.h"
#include "buoy/world/world_json.h"
#include "buoy/world/world_near.h"
#include "buoy/world/world_reader_test_support.h"

namespace buoy {
namespace {

using testing::WorldReader;

const World& fixed_world() {
  static const World world = make_known_world();
  return world;
}

std::vector<WorldTask> tasks_between(int begin, int end) {
  std::vector<WorldTask> tasks;
  for (int i = begin; i < end; ++i) tasks.push_back(static_cast<WorldTask>(i));
  return tasks;
}

ItemSettings levelled(Level level, std::uint64_t seed, std::vector<WorldTask> tasks) {
  return at_level({.seed = seed, .tasks = std::move(tasks), .worlds = {WorldKind::kKnown, WorldKind::kNovel}},
                  level);
}

constexpr Level kLevels[] = {Level::kEasy, Level::kMiddle, Level::kHard};

TEST(MicroWorldLevels, EveryAnswerFollowsFromThePassagesAlone) {
  for (const Level level : kLevels) {
    const ItemSettings settings = levelled(level, 200, tasks_between(0, kWorldTasks));
    for (Index i = 0; i < 600; ++i) {
      const WorldItem item = make_item(fixed_world(), settings, i);
      ASSERT_EQ(WorldReader(item.passages).answer(item.question), item.answer)
          << item_line(item, settings) << '\n';
    }
  }
}

TEST(MicroWorldLevels, TheReaderMissesWhatIsTakenAwayAndFollowsTheRule) {
  // Otherwise the test above could pass by a reader that guesses.
  const ItemSettings settings = levelled(Level::kMiddle, 201, tasks_between(5, kWorldTasks));
  Index same = 0;
  for (Index i = 0; i < 200; ++i) {
    WorldItem item = make_item(fixed_world(), settings, i);
    std::string question = item.question;
    if (item.task == WorldTask::kConflict) {
      const std::size_t at = question.find("latest");
      question.replace(at == std::string::npos ? question.find("earliest") : at,
                       at == std::string::npos ? 8 : 6, at == std::string::npos ? "latest" : "earliest");
    } else {
      std::erase_if(item.passages, [](const Passage& p) { return p.role == PassageRole::kGold; });
    }
    same += WorldReader(item.passages).answer(question) == item.answer;
  }
  // Two records may state the same wrong value; they never state the right one.
  EXPECT_EQ(same, 0);
}

TEST(MicroWorldLevels, ContradictionsWithoutARuleAreUnclear) {
  ItemSettings settings = levelled(Level::kMiddle, 202, {WorldTask::kChain, WorldTask::kSingle});
  settings.contradictions = 1;
  for (Index i = 0; i < 100; ++i) {
    const WorldItem item = make_item(fixed_world(), settings, i);
    EXPECT_EQ(WorldReader(item.passages).answer(item.question), testing::kUnclear);
  }
}

TEST(MicroWorldLevels, EveryNeededFactHasItsGoldPassageAndIsItsEvidence) {
  for (const Level level : kLevels) {
    const ItemSettings settings = levelled(level, 203, tasks_between(5, kWorldTasks));
    for (Index i = 0; i < 200; ++i) {
      const WorldItem item = make_item(fixed_world(), settings, i);
      std::vector<Passage> golds = item.passages;
      std::erase_if(golds, [](const Passage& p) { return p.role != PassageRole::kGold; });
      ASSERT_EQ(std::ssize(golds), gold_count(item.task, settings));
      std::vector<Passage> evidence;
      for (Passage& passage : golds) {
        ASSERT_EQ(passage.evidence.size(), 1u);
        const TextSpan span = passage.evidence[0];
        const std::string record = passage.text.starts_with("Record of ") ? passage.text.substr(0, 16) : "";
        evidence.push_back(
            {.text = record + passage.text.substr(static_cast<std::size_t>(span.begin),
                                                  static_cast<std::size_t>(span.end - span.begin))});
      }
      // The evidence alone answers; of a dated question the other records are not needed to answer from the
      // gold one.
      EXPECT_EQ(WorldReader(evidence).answer(item.question), item.answer) << item_line(item, settings);
    }
  }
}

TEST(MicroWorldLevels, AreWhatTheTableSays) {
  const Index passages[] = {5, 15, 40}, near[] = {0, 3, 10}, hops[] = {2, 3, 4}, names[] = {2, 3, 8};
  for (std::size_t l = 0; l < 3; ++l) {
    const ItemSettings settings = levelled(kLevels[l], 204, tasks_between(0, kWorldTasks));
    EXPECT_EQ(length_of(WorldTask::kChain, settings), hops[l]);
    EXPECT_EQ(length_of(WorldTask::kProfile, settings), hops[l]);
    EXPECT_EQ(length_of(WorldTask::kList, settings), names[l]);
    for (Index i = 0; i < 20; ++i) {
      const WorldItem item = make_item(fixed_world(), settings, i);
      EXPECT_EQ(std::ssize(item.passages), passages[l]);
      EXPECT_EQ(std::ranges::count(item.passages, PassageRole::kNearMiss, &Passage::role), near[l]);
      if (item.task == WorldTask::kDated || item.task == WorldTask::kConflict) {
        EXPECT_EQ(std::ranges::count(item.passages, PassageRole::kContradiction, &Passage::role),
                  length_of(item.task, settings) - 1);
      }
    }
  }
}

TEST(MicroWorldLevels, HardPromptsFitTheContextAndLongAnswersTheirPositions) {
  const Tokenizer tokenizer = Tokenizer::load(source_path("models") / "mini-mdm");
  const ItemSettings settings = levelled(Level::kHard, 205, tasks_between(5, kWorldTasks));
  std::size_t longest = 0, answer = 0;
  for (Index i = 0; i < 50; ++i) {
    const WorldItem item = make_item(fixed_world(), settings, i);
    longest = std::max(longest, tokenizer.encode(micro_prompt(item), SpecialTokens::kNone).size());
    answer = std::max(answer, tokenizer.encode(" " + item.answer, SpecialTokens::kNone).size());
  }
  EXPECT_LE(longest + 64, 2048u);
  EXPECT_LT(answer, 64u);
  EXPECT_GT(answer, 40u);
}

TEST(MicroWorldLevels, NearMissesChangeNothingElseAndNameNobody) {
  ItemSettings plain = levelled(Level::kMiddle, 206, {WorldTask::kSingle, WorldTask::kChain});
  plain.worlds = {WorldKind::kNovel};
  ItemSettings none = plain;
  none.near_misses = 0;
  Index stated = 0;
  for (Index i = 0; i < 100; ++i) {
    const WorldItem item = make_item(fixed_world(), plain, i), other = make_item(fixed_world(), none, i);
    EXPECT_EQ(item.question, other.question);
    EXPECT_EQ(item.answer, other.answer);
    const World world = make_novel_world(plain.seed, i);
    for (const Passage& passage : item.passages) {
      if (passage.role != PassageRole::kNearMiss) continue;
      EXPECT_EQ(std::ranges::find(world.entities, passage.title, &Entity::name), world.entities.end());
      for (const testing::StatedFact& said : testing::read_passage(passage.text)) {
        const bool asked =
            item.task == WorldTask::kSingle &&
            said.key == attributes_of(said.kind)[static_cast<std::size_t>(item.facts[0].attribute)].key;
        stated += asked;
        EXPECT_FALSE(asked && said.value == item.answer) << passage.text;
      }
      // Almost an asked entity's name: the first two letters are the same.
      EXPECT_TRUE(std::ranges::any_of(item.facts, [&](const WorldFact& fact) {
        return world[fact.entity].name.substr(0, 2) == passage.title.substr(0, 2);
      })) << passage.title;
    }
  }
  EXPECT_EQ(stated, 50 * 3);
}

TEST(MicroWorldLevels, BytesAreTheSameOnEveryMachine) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const Level level : kLevels) {
    write_items(levelled(level, 1, tasks_between(0, kWorldTasks)), 0, 60, 1, [&](const std::string& part) {
      for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    });
  }
  EXPECT_EQ(hash, 15339034409939061973u);
}

TEST(MicroWorldLevels, SettingsThatMakeNoSenseAreUsageErrors) {
  const auto refused = [](std::vector<WorldTask> tasks, const auto& change) {
    ItemSettings settings = levelled(Level::kEasy, 1, std::move(tasks));
    change(settings);
    EXPECT_THROW(check_settings(settings), UsageError);
  };
  using enum WorldTask;
  refused({kChain}, [](ItemSettings& s) { s.length = 5; });
  refused({kList}, [](ItemSettings& s) { s.length = 9; });
  refused({kSingle}, [](ItemSettings& s) { s.length = 2; });
  refused({kDated}, [](ItemSettings& s) { s.passages = 0; });
  refused({kConflict}, [](ItemSettings& s) { s.contradictions = 1; });
  refused({kList}, [](ItemSettings& s) { s.contradictions = 1; });
  refused({kChain}, [](ItemSettings& s) { s.passages = 1; });
  refused({kConflict}, [](ItemSettings& s) { s.length = 6; });
  refused({kSingle}, [](ItemSettings& s) { s.near_misses = 5; });
  refused({kSingle}, [](ItemSettings& s) { s.near_misses = -1; });
  refused({kMultihop, kChain}, [](ItemSettings& s) { s.split = Split::kFar; });
  EXPECT_NO_THROW(check_settings(levelled(Level::kHard, 1, tasks_between(0, kWorldTasks))));
  for (const Level level : kLevels) EXPECT_EQ(parse_level(name_of(level)), level);
  EXPECT_FALSE(parse_level("harder"));
}

}  // namespace
}  // namespace buoy
