// Question items over MicroWorld: a question, its answers, and passages of which some hold the evidence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buoy/world/world_text.h"

namespace buoy {

enum class WorldTask { kSingle, kReverse, kSlot, kLong, kMultihop };
enum class WorldKind { kKnown, kNovel };
enum class Distractors { kOther, kSameEntity, kSameAttribute, kMixed };
enum class Split { kAny, kNear, kFar };
enum class PassageRole { kGold, kDistractor, kNoise, kContradiction };

// Settings of a set of items. Changing how passages are laid out (passages, gold_positions, distractors,
// noise, contradictions, split) leaves every question, answer and gold text as it was: sets of one seed are
// paired.
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
};

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
  std::vector<WorldFact> facts;  // needed, in order of reasoning: one, or for multihop two
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

// Nothing when no value has that name.
std::optional<WorldTask> parse_world_task(std::string_view name);
std::optional<WorldKind> parse_world_kind(std::string_view name);
std::optional<Distractors> parse_distractors(std::string_view name);
std::optional<Split> parse_split(std::string_view name);

// The raw prompt of the bundled models. Without passages it starts at "Question:".
std::string micro_prompt(const WorldItem& item);

}  // namespace buoy
