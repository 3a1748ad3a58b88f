// Question items over MicroWorld: a question, its answers, and passages of which some hold the evidence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buoy/world/world_text.h"

namespace buoy {

// The five after kMultihop need several facts, in a given order, or a rule: see docs/microworld.md.
enum class WorldTask {
  kSingle,
  kReverse,
  kSlot,
  kLong,
  kMultihop,
  kChain,
  kList,
  kProfile,
  kDated,
  kConflict
};
inline constexpr int kWorldTasks = 10;
enum class WorldKind { kKnown, kNovel };
enum class Distractors { kOther, kSameEntity, kSameAttribute, kMixed };
enum class Split { kAny, kNear, kFar };
enum class PassageRole { kGold, kDistractor, kNoise, kContradiction, kNearMiss };
// How much stands around the question, and how many facts the tasks over several need. kNone: as the other
// settings say, with the lengths of kEasy.
enum class Level { kNone, kEasy, kMiddle, kHard };

// Settings of a set of items. Changing how passages are laid out (passages, gold_positions, distractors,
// noise, contradictions, near_misses, split) leaves every question, answer and gold text as it was: sets of
// one seed are paired. Another level is another set.
struct ItemSettings {
  std::uint64_t seed = 0;
  std::vector<WorldTask> tasks = {WorldTask::kSingle};  // item i takes tasks[i % size]
  std::vector<WorldKind> worlds = {WorldKind::kNovel};  // changes when the tasks have gone round once
  Index passages = 5;                                   // 0: none
  std::vector<Index> gold_positions;  // from 1; empty: drawn. Multihop: bridge passage, then answer passage
  bool gold_left_out = false;         // distractors stand where the gold passages would
  Distractors distractors = Distractors::kMixed;
  Index noise = 0;           // of the passages, how many are prose that states nothing
  Index contradictions = 0;  // of the passages, how many state another value for the asked fact
  Split split = Split::kAny;
  Level level = Level::kNone;
  Index length = 0;  // hops of a chain, names of a list, facts of a profile, records of dated and conflict;
                     // 0: the level's
  Index near_misses = 0;  // of the passages, how many state the asked fact of an entity with almost that name
  Index variant = 0;      // another number: another question about the same world, and its own gold passages
};

// Settings of the level: its passages and near misses, everything else as it was.
ItemSettings at_level(ItemSettings settings, Level level);

// How many facts, names or records an item of the task has: settings.length, or the level's. 1 for the tasks
// over one fact, 2 for multihop.
Index length_of(WorldTask task, const ItemSettings& settings);

// How many gold passages an item of the task has; every needed fact stands in one of its own.
Index gold_count(WorldTask task, const ItemSettings& settings);

// The steps between years of records: 50 at the easy level, where four years occur and their order can be
// learnt by heart, then 20, then 1; smaller where so many records would not find twice as many years.
Index year_step(Level level, Index records);

struct Passage {
  std::string title;  // the entity's name; empty for noise
  std::string text;   // ASCII
  PassageRole role = PassageRole::kDistractor;
  std::vector<TextSpan> evidence;  // sentences that state a needed fact; gold passages only
  std::vector<TextSpan> answer;    // where the short answer stands inside the evidence
};

struct WorldItem {
  Index index = 0;
  WorldTask task = WorldTask::kSingle;
  WorldKind world = WorldKind::kNovel;
  std::string question;
  std::string answer;
  std::vector<WorldFact> facts;  // needed, in order of reasoning: one for each gold passage
  std::vector<Passage> passages;
};

inline constexpr Index kMaxPassages = 256;

// Throws UsageError with one line when the settings contradict each other.
void check_settings(const ItemSettings& settings);

// Item `index` (0 .. 2^32-1). `known` is make_known_world(), `settings` passed check_settings. Pure; any
// thread.
WorldItem make_item(const World& known, const ItemSettings& settings, Index index);

// Which kind of world item `index` speaks about.
WorldKind world_of_item(const ItemSettings& settings, Index index);

std::string_view name_of(WorldTask task);
std::string_view name_of(WorldKind world);
std::string_view name_of(Distractors distractors);
std::string_view name_of(Split split);
std::string_view name_of(PassageRole role);
std::string_view name_of(Level level);

// Nothing when no value has that name.
std::optional<WorldTask> parse_world_task(std::string_view name);
std::optional<WorldKind> parse_world_kind(std::string_view name);
std::optional<Distractors> parse_distractors(std::string_view name);
std::optional<Split> parse_split(std::string_view name);
std::optional<Level> parse_level(std::string_view name);

// The raw prompt of the bundled models. Without passages it starts at "Question:".
std::string micro_prompt(const WorldItem& item);

}  // namespace buoy
