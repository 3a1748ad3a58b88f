#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/world/world_json.h"
#include "buoy/world/world_test_support.h"

namespace buoy {
namespace {

using testing::read_passage;
using testing::StatedFact;

const std::vector<WorldTask> kAllTasks = {WorldTask::kSingle, WorldTask::kReverse, WorldTask::kSlot,
                                          WorldTask::kLong, WorldTask::kMultihop};
const std::vector<WorldKind> kBothWorlds = {WorldKind::kKnown, WorldKind::kNovel};

const World& known() {
  static const World world = make_known_world();
  return world;
}

ItemSettings all_tasks(std::uint64_t seed) {
  return {.seed = seed, .tasks = kAllTasks, .worlds = kBothWorlds};
}

std::string_view at(const Passage& passage, const TextSpan& span) {
  return std::string_view(passage.text)
      .substr(static_cast<std::size_t>(span.begin), static_cast<std::size_t>(span.end - span.begin));
}

std::string lines_of(const ItemSettings& settings, Index count, int threads) {
  std::string text;
  write_items(settings, 0, count, threads, [&](const std::string& part) { text += part; });
  return text;
}

// What the item asks for, in words: from its own world, rebuilt.
struct AskedInWords {
  std::string_view key;
  std::string name, value;
};

std::vector<AskedInWords> asked_in_words(const WorldItem& item, const ItemSettings& settings) {
  const World novel = make_novel_world(settings.seed, item.index);
  const World& world = item.world == WorldKind::kKnown ? known() : novel;
  std::vector<AskedInWords> asked;
  for (const WorldFact& fact : item.facts) {
    const Entity& entity = world[fact.entity];
    const std::size_t a = static_cast<std::size_t>(fact.attribute);
    asked.push_back({attributes_of(entity.kind)[a].key, entity.name, entity.values[a]});
  }
  return asked;
}

struct Counts {
  Index items = 0, unfaithful = 0, leaks = 0, bad_evidence = 0, accidents = 0;
};

// A reverse question is also answered by another entity with the asked value.
bool states(const StatedFact& said, const AskedInWords& asked, WorldTask task) {
  if (said.key != asked.key) return false;
  return said.name == asked.name || (task == WorldTask::kReverse && said.value == asked.value);
}

bool is_faithful(const WorldItem& item, const std::vector<AskedInWords>& asked) {
  std::size_t golds = 0;
  for (const Passage& passage : item.passages) {
    if (passage.role != PassageRole::kGold) continue;
    ++golds;
    for (const StatedFact& said : read_passage(passage.text)) {
      for (const AskedInWords& a : asked) {
        if (said.key == a.key && said.name == a.name && said.value != a.value) return false;
      }
    }
  }
  return golds == asked.size() && std::ranges::any_of(item.passages, [&](const Passage& p) {
           return p.role == PassageRole::kGold && p.text.find(item.answer) != std::string::npos;
         });
}

bool evidence_is_exact(const WorldItem& item, const std::vector<AskedInWords>& asked) {
  std::size_t found = 0, answers = 0;
  for (const Passage& passage : item.passages) {
    for (const TextSpan& span : passage.evidence) {
      const auto said = testing::read_sentence(at(passage, span));
      if (!said) return false;
      found += std::ranges::count_if(asked, [&](const AskedInWords& a) {
        return said->key == a.key && said->name == a.name && said->value == a.value;
      });
    }
    for (const TextSpan& span : passage.answer) answers += at(passage, span) == item.answer;
  }
  return found == asked.size() && answers == 1;
}

void inspect(const WorldItem& item, const ItemSettings& settings, Counts& counts) {
  const std::vector<AskedInWords> asked = asked_in_words(item, settings);
  ++counts.items;
  counts.unfaithful += !is_faithful(item, asked);
  counts.bad_evidence += !evidence_is_exact(item, asked);
  bool leaks = false, accident = false;
  for (const Passage& passage : item.passages) {
    if (passage.role == PassageRole::kGold) continue;
    for (const StatedFact& said : read_passage(passage.text)) {
      leaks |= std::ranges::any_of(asked, [&](const AskedInWords& a) { return states(said, a, item.task); });
    }
    accident |= passage.text.find(item.answer) != std::string::npos;
  }
  counts.leaks += leaks;
  counts.accidents += accident;
}

#ifndef __has_feature  // clang's way to say what GCC says by macros
#define __has_feature(feature) 0
#endif
// The sanitizers look for other faults and are twenty times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
constexpr Index kItemsPerKind = 1000;
#else
constexpr Index kItemsPerKind = 25000;
#endif

TEST(MicroWorld, GoldAnswersAndNothingElseDoesIn100000Items) {
  Counts counts;
  for (const Distractors kind :
       {Distractors::kOther, Distractors::kSameEntity, Distractors::kSameAttribute, Distractors::kMixed}) {
    ItemSettings settings = all_tasks(100 + static_cast<std::uint64_t>(kind));
    settings.distractors = kind;
    settings.noise = 1;
    for (Index i = 0; i < kItemsPerKind; ++i) inspect(make_item(known(), settings, i), settings, counts);
  }
  EXPECT_EQ(counts.items, 4 * kItemsPerKind);
  EXPECT_EQ(counts.unfaithful, 0);
  EXPECT_EQ(counts.bad_evidence, 0);
  EXPECT_EQ(counts.leaks, 0);
  // The answer's letters elsewhere (a year, a profession, a name that also comes up) are no statement of the
  // fact.
  RecordProperty("accidental_matches", std::to_string(counts.accidents));
  std::printf("%lld of %lld items have the answer's letters in another passage\n",
              static_cast<long long>(counts.accidents), static_cast<long long>(counts.items));
  EXPECT_LT(counts.accidents, counts.items / 3);
}

TEST(MicroWorld, TheWitnessSeesALeakAndAContradiction) {
  // Otherwise the test above could pass by reading nothing.
  ItemSettings settings = all_tasks(5);
  settings.contradictions = 1;
  Counts counts;
  for (Index i = 0; i < 500; ++i) inspect(make_item(known(), settings, i), settings, counts);
  EXPECT_EQ(counts.leaks, counts.items);
  const auto said = testing::read_sentence("Ada Bolin was born in the year 1815.");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->key, "birthyear");
  EXPECT_EQ(said->name, "Ada Bolin");
  EXPECT_EQ(said->value, "1815");
  EXPECT_FALSE(testing::read_sentence("In spring the road was grey."));
}

TEST(MicroWorld, ContradictionsStateAnotherValue) {
  ItemSettings settings = all_tasks(6);
  settings.passages = 6;
  settings.contradictions = 2;
  for (Index i = 0; i < 500; ++i) {
    const WorldItem item = make_item(known(), settings, i);
    const AskedInWords asked = asked_in_words(item, settings).back();
    Index against = 0;
    for (const Passage& passage : item.passages) {
      if (passage.role != PassageRole::kContradiction) continue;
      EXPECT_TRUE(passage.evidence.empty());
      for (const StatedFact& said : read_passage(passage.text)) {
        if (said.key != asked.key) continue;
        against += item.task == WorldTask::kReverse ? said.name != asked.name && said.value == asked.value
                                                    : said.name == asked.name && said.value != asked.value;
      }
    }
    EXPECT_EQ(against, 2) << item_line(item, settings);
  }
}

TEST(MicroWorld, ThreadsDoNotChangeABit) {
  const ItemSettings settings = all_tasks(11);
  const std::string one = lines_of(settings, 3000, 1);
  EXPECT_EQ(one, lines_of(settings, 3000, 3));
  EXPECT_EQ(one, lines_of(settings, 3000, 8));
  std::string rest;
  write_items(settings, 1000, 2000, 2, [&](const std::string& part) { rest += part; });
  EXPECT_TRUE(one.ends_with(rest));
}

TEST(MicroWorld, BytesAreTheSameOnEveryMachine) {
  // FNV-1a of the first items of seed 1, recorded once: a change here makes published sets unreproducible.
  ItemSettings settings = all_tasks(1);
  settings.noise = 1;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : lines_of(settings, 200, 1)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  EXPECT_EQ(hash, 11038850907836755248u);
}

TEST(MicroWorld, BundledSetsAreWhatTheGeneratorWrites) {
  const auto matches = [](const ItemSettings& settings, const std::string& name) {
    EXPECT_EQ(lines_of(settings, 100, 1), read_file(source_path("data") / name)) << name;
  };
  matches(all_tasks(2026), "micro_test.jsonl");
  for (const Index position : {1, 5, 10}) {
    matches({.seed = 2027, .passages = 10, .gold_positions = {position}},
            fmt::format("micro_gold_at_{}.jsonl", position));
  }
  matches({.seed = 2028, .tasks = kAllTasks, .worlds = {WorldKind::kKnown}, .passages = 0},
          "micro_known_closed.jsonl");
  matches({.seed = 2029, .tasks = {WorldTask::kMultihop}, .passages = 10, .split = Split::kFar},
          "micro_multihop_far.jsonl");
  using enum WorldTask;
  matches({.seed = 2030,
           .tasks = {kLong, kLong, kLong, kSingle, kLong, kLong, kLong, kMultihop, kLong, kLong, kLong, kSlot,
                     kLong, kLong, kLong, kReverse},
           .worlds = kBothWorlds},
          "micro_study.jsonl");
}

TEST(MicroWorld, SeedsGiveOtherItemsAndOneSeedNoDuplicates) {
  const std::string a = lines_of(all_tasks(21), 100, 1), b = lines_of(all_tasks(22), 100, 1);
  EXPECT_NE(a, b);
  ItemSettings settings{.seed = 23, .tasks = kAllTasks};
  std::set<std::string> questions;
  for (Index i = 0; i < 5000; ++i) questions.insert(make_item(known(), settings, i).question);
  EXPECT_GT(questions.size(), 4950u);
}

// What training asks further about a context: the passages of all variants together answer each of them,
// once.
TEST(MicroWorld, VariantsAskOtherThingsOfOneWorldAndTheirPassagesGoTogether) {
  std::set<std::string> questions;
  Index contradictions = 0;
  for (Index i = 0; i < 2000; ++i) {
    const auto variant = [&](Index v) {
      const WorldTask task = kAllTasks[static_cast<std::size_t>((i + v / 2) % std::ssize(kAllTasks))];
      ItemSettings settings{.seed = 24, .tasks = {task}, .variant = v};
      settings.passages = v == 0 ? 5 : gold_count(task, settings);
      return std::pair(make_item(known(), settings, i), settings);
    };
    std::vector<StatedFact> stated;
    for (Index v = 0; v < 4; ++v) {
      for (const Passage& passage : variant(v).first.passages)
        for (StatedFact& said : read_passage(passage.text)) stated.push_back(std::move(said));
    }
    for (Index v = 0; v < 4; ++v) {
      const auto [item, settings] = variant(v);
      questions.insert(item.question);
      for (const AskedInWords& asked : asked_in_words(item, settings)) {
        for (const StatedFact& said : stated) {
          if (said.key != asked.key) continue;
          contradictions += said.name == asked.name && said.value != asked.value;
          contradictions +=
              item.task == WorldTask::kReverse && said.value == asked.value && said.name != asked.name;
        }
      }
    }
  }
  EXPECT_EQ(contradictions, 0);
  EXPECT_GT(questions.size(), 7000u);  // 8000 but for those that are drawn twice in one world
}

TEST(MicroWorld, LayoutLeavesQuestionAnswerAndGoldAlone) {
  const ItemSettings plain = all_tasks(31);
  ItemSettings other = plain;
  other.passages = 12;
  other.noise = 3;
  other.contradictions = 2;
  other.distractors = Distractors::kSameAttribute;
  const auto golds = [](const WorldItem& item) {
    std::set<std::string> texts;
    for (const Passage& p : item.passages) {
      if (p.role == PassageRole::kGold) texts.insert(p.text);
    }
    return texts;
  };
  for (Index i = 0; i < 300; ++i) {
    const WorldItem a = make_item(known(), plain, i), b = make_item(known(), other, i);
    EXPECT_EQ(a.question, b.question);
    EXPECT_EQ(a.answer, b.answer);
    EXPECT_EQ(golds(a), golds(b));
    EXPECT_EQ(b.passages.size(), 12u);
    EXPECT_EQ(std::ranges::count(b.passages, PassageRole::kNoise, &Passage::role), 3);
    EXPECT_EQ(std::ranges::count(b.passages, PassageRole::kContradiction, &Passage::role), 2);
  }
}

std::vector<Index> gold_places(const WorldItem& item) {
  std::vector<Index> places;
  for (std::size_t i = 0; i < item.passages.size(); ++i) {
    if (item.passages[i].role == PassageRole::kGold) places.push_back(static_cast<Index>(i) + 1);
  }
  return places;
}

TEST(MicroWorld, GoldStandsWhereItIsTold) {
  for (const Index position : {1, 4, 7}) {
    ItemSettings settings{.seed = 41, .passages = 7, .gold_positions = {position}};
    for (Index i = 0; i < 50; ++i) {
      EXPECT_EQ(gold_places(make_item(known(), settings, i)), std::vector{position});
    }
  }
  ItemSettings hop{.seed = 42, .tasks = {WorldTask::kMultihop}, .passages = 7, .gold_positions = {6, 2}};
  for (Index i = 0; i < 50; ++i) {
    const WorldItem item = make_item(known(), hop, i);
    EXPECT_EQ(gold_places(item), (std::vector<Index>{2, 6}));
    EXPECT_TRUE(item.passages[5].answer.empty());  // the bridge came first in the list
    EXPECT_EQ(item.passages[1].answer.size(), 1u);
  }
}

TEST(MicroWorld, SplitSetsTheDistanceOfTwoGolds) {
  ItemSettings settings{.seed = 43, .tasks = {WorldTask::kMultihop}, .passages = 9};
  std::set<Index> any_distances;
  for (Index i = 0; i < 200; ++i) {
    settings.gold_positions.clear();
    settings.split = Split::kNear;
    std::vector<Index> at = gold_places(make_item(known(), settings, i));
    EXPECT_EQ(at[1] - at[0], 1);
    settings.split = Split::kFar;
    EXPECT_EQ(gold_places(make_item(known(), settings, i)), (std::vector<Index>{1, 9}));
    settings.gold_positions = {3};
    EXPECT_EQ(gold_places(make_item(known(), settings, i)), (std::vector<Index>{3, 9}));
    settings.gold_positions.clear();
    settings.split = Split::kAny;
    at = gold_places(make_item(known(), settings, i));
    any_distances.insert(at[1] - at[0]);
  }
  EXPECT_EQ(any_distances.size(), 8u);
}

TEST(MicroWorld, WithoutGoldNothingAnswers) {
  ItemSettings settings = all_tasks(51);
  settings.gold_left_out = true;
  for (Index i = 0; i < 500; ++i) {
    const WorldItem item = make_item(known(), settings, i);
    EXPECT_EQ(item.passages.size(), 5u);
    EXPECT_TRUE(gold_places(item).empty());
    for (const AskedInWords& asked : asked_in_words(item, settings)) {
      for (const Passage& passage : item.passages) {
        for (const StatedFact& said : read_passage(passage.text))
          EXPECT_FALSE(states(said, asked, item.task));
      }
    }
  }
  settings.gold_left_out = false;
  settings.passages = 0;
  EXPECT_TRUE(make_item(known(), settings, 0).passages.empty());
}

TEST(MicroWorld, TextIsAsciiSoSpansAreCodePoints) {
  ItemSettings settings = all_tasks(61);
  settings.noise = 2;
  for (const char c : lines_of(settings, 2000, 1)) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(MicroWorld, LinesFollowTheSchema) {
  const std::string text = lines_of(all_tasks(71), 10, 1);
  std::size_t begin = 0;
  for (Index i = 0; i < 10; ++i) {
    const std::size_t end = text.find('\n', begin);
    const Json json = parse_json(text.substr(begin, end - begin), "line");
    const JsonObject item(json, "line");
    EXPECT_EQ(item.string("id"), fmt::format("micro-71-{:06}", i));
    EXPECT_EQ(item.string("task"), name_of(kAllTasks[static_cast<std::size_t>(i % 5)]));
    EXPECT_EQ(item.string("world"), i < 5 ? "known" : "novel");
    EXPECT_EQ(json["answers"].size(), 1u);
    EXPECT_EQ(json["passages"].size(), 5u);
    EXPECT_EQ(json["generator"]["seed"], 71);
    begin = end + 1;
  }
}

TEST(MicroWorld, DocumentsHoldTheAskedNumberOfParagraphs) {
  ItemSettings settings{.seed = 81, .worlds = kBothWorlds, .passages = 7};
  const std::string text = make_document(known(), settings, 0);
  EXPECT_EQ(std::ranges::count(text, '\n'), 6);
  EXPECT_FALSE(read_passage(text.substr(0, text.find('\n'))).empty());
}

TEST(MicroWorld, TheKnownWorldFitsTogether) {
  const World& world = known();
  EXPECT_EQ(world.entities.size(), 1000u);
  std::set<std::string> names;
  for (const Entity& entity : world.entities) {
    names.insert(entity.name);
    const auto attributes = attributes_of(entity.kind);
    for (std::size_t i = 0; i < attributes.size(); ++i) {
      EXPECT_FALSE(entity.values[i].empty());
      const auto named = entity_named_by(attributes[i].value);
      ASSERT_EQ(entity.links[i] >= 0, named.has_value());
      if (named) {
        EXPECT_EQ(world[entity.links[i]].name, entity.values[i]);
      }
    }
  }
  EXPECT_EQ(names.size(), 1000u);
}

TEST(MicroWorldSettings, ThatMakeNoSenseAreUsageErrors) {
  const auto refused = [](const auto& change) {
    ItemSettings settings = all_tasks(1);
    change(settings);
    EXPECT_THROW(check_settings(settings), UsageError);
  };
  refused([](ItemSettings& s) { s.passages = -1; });
  refused([](ItemSettings& s) { s.passages = kMaxPassages + 1; });
  refused([](ItemSettings& s) { s.passages = 1; });  // multihop needs two
  refused([](ItemSettings& s) { s.noise = -1; });
  refused([](ItemSettings& s) { s.contradictions = -2; });
  refused([](ItemSettings& s) { s.noise = 4; });
  refused([](ItemSettings& s) { s.gold_positions = {6}; });
  refused([](ItemSettings& s) { s.gold_positions = {0}; });
  refused([](ItemSettings& s) { s.gold_positions = {1, 2}; });
  refused([](ItemSettings& s) { s.tasks = {WorldTask::kMultihop}, s.gold_positions = {2, 2}; });
  refused([](ItemSettings& s) { s.tasks = {WorldTask::kMultihop}, s.gold_positions = {1, 2, 3}; });
  refused([](ItemSettings& s) { s.tasks = {WorldTask::kSingle}, s.split = Split::kNear; });
  refused([](ItemSettings& s) { s.gold_left_out = true, s.passages = 0; });
  refused([](ItemSettings& s) { s.tasks.clear(); });
  EXPECT_NO_THROW(check_settings(all_tasks(1)));
  EXPECT_THROW(write_items(all_tasks(1), 0, -1, 1, {}), UsageError);
  EXPECT_THROW(write_items(all_tasks(1), 0, 1, 0, {}), UsageError);
}

TEST(MicroWorldSettings, NamesRoundTrip) {
  for (const WorldTask task : kAllTasks) EXPECT_EQ(parse_world_task(name_of(task)), task);
  for (const WorldKind world : kBothWorlds) EXPECT_EQ(parse_world_kind(name_of(world)), world);
  EXPECT_FALSE(parse_world_task("double"));
  EXPECT_FALSE(parse_distractors(""));
  EXPECT_EQ(parse_split("far"), Split::kFar);
  EXPECT_EQ(parse_distractors("same-entity"), Distractors::kSameEntity);
}

}  // namespace
}  // namespace buoy
