// Names of the settings' values, and which settings make no sense together.
#include <algorithm>
#include <array>

#include "buoy/base/error.h"
#include "buoy/world/world_item.h"
#include "buoy/world/world_question.h"

namespace buoy {
namespace {

constexpr std::array<std::string_view, kWorldTasks> kTasks = {
    "single", "reverse", "slot", "long", "multihop", "chain", "list", "profile", "dated", "conflict"};
constexpr std::array<std::string_view, 2> kWorlds = {"known", "novel"};
constexpr std::array<std::string_view, 4> kDistractors = {"other", "same-entity", "same-attribute", "mixed"};
constexpr std::array<std::string_view, 3> kSplits = {"any", "near", "far"};
constexpr std::array<std::string_view, 5> kRoles = {"gold", "distractor", "noise", "contradiction",
                                                    "near-miss"};
constexpr std::array<std::string_view, 4> kLevels = {"none", "easy", "middle", "hard"};

// What a level is. Lengths stand for easy, middle, hard.
struct LevelDials {
  Index passages, near_misses, year_step;
};
constexpr LevelDials kDials[] = {{5, 0, 50}, {5, 0, 50}, {15, 3, 20}, {40, 10, 1}};

struct Lengths {
  std::array<Index, 4> at;  // none, easy, middle, hard
  Index least, most;
};
constexpr Lengths kTaskLengths[kWorldTasks] = {
    {{1, 1, 1, 1}, 1, 1}, {{1, 1, 1, 1}, 1, 1}, {{1, 1, 1, 1}, 1, 1}, {{1, 1, 1, 1}, 1, 1},
    {{2, 2, 2, 2}, 2, 2}, {{2, 2, 3, 4}, 2, 4}, {{2, 2, 3, 8}, 2, 8}, {{2, 2, 3, 4}, 2, 4},
    {{2, 2, 3, 5}, 2, 8}, {{2, 2, 3, 5}, 2, 8}};

bool is_dated(WorldTask task) {
  return task == WorldTask::kDated || task == WorldTask::kConflict;
}

template <typename E, std::size_t n>
std::optional<E> parse(const std::array<std::string_view, n>& names, std::string_view name) {
  const auto it = std::ranges::find(names, name);
  if (it == names.end()) return std::nullopt;
  return static_cast<E>(it - names.begin());
}

template <typename E, std::size_t n>
std::string_view at(const std::array<std::string_view, n>& names, E value) {
  return names[static_cast<std::size_t>(value)];
}

bool has(const ItemSettings& settings, WorldTask task) {
  return std::ranges::find(settings.tasks, task) != settings.tasks.end();
}

void check_lengths(const ItemSettings& s) {
  bool used = false;
  for (const WorldTask task : s.tasks) {
    const Lengths& lengths = kTaskLengths[static_cast<std::size_t>(task)];
    if (lengths.most == lengths.least) continue;
    used = true;
    if (s.length != 0 && (s.length < lengths.least || s.length > lengths.most)) {
      fail_usage("length: got {}, but {} has {} to {}", s.length, name_of(task), lengths.least, lengths.most);
    }
    if (is_dated(task) && s.passages == 0) {
      fail_usage("passages: got 0, but {} is about the records in them", name_of(task));
    }
    if (s.contradictions > 0 && (is_dated(task) || task == WorldTask::kList)) {
      fail_usage("contradict: {} has its own rule; --length says how many", name_of(task));
    }
  }
  if (s.length != 0 && !used) fail_usage("length: no task here has one");
}

void check_positions(const ItemSettings& s) {
  const Index golds = std::ssize(s.gold_positions);
  if (golds > s.passages) fail_usage("gold position: {} positions for {} passages", golds, s.passages);
  for (const Index position : s.gold_positions) {
    if (position < 1 || position > s.passages) {
      fail_usage("gold position: got {}, expected 1 to {} (the number of passages)", position, s.passages);
    }
    if (std::ranges::count(s.gold_positions, position) > 1)
      fail_usage("gold position: {} is named twice", position);
  }
  const bool all_multihop =
      std::ranges::all_of(s.tasks, [](WorldTask t) { return t == WorldTask::kMultihop; });
  const Index most = all_multihop ? 2 : 1;
  if (golds > most) {
    fail_usage("gold position: got {} positions, expected at most {} ({})", golds, most,
               all_multihop ? "multihop has two gold passages" : "only multihop has two gold passages");
  }
  if (golds == 2 && s.split != Split::kAny) fail_usage("split: both gold positions are given already");
}

}  // namespace

ItemSettings at_level(ItemSettings settings, Level level) {
  const LevelDials& dials = kDials[static_cast<std::size_t>(level)];
  settings.level = level;
  settings.passages = dials.passages;
  settings.near_misses = dials.near_misses;
  return settings;
}

Index length_of(WorldTask task, const ItemSettings& settings) {
  const Lengths& lengths = kTaskLengths[static_cast<std::size_t>(task)];
  if (settings.length > 0 && lengths.most > lengths.least) return settings.length;
  return lengths.at[static_cast<std::size_t>(settings.level)];
}

Index gold_count(WorldTask task, const ItemSettings& settings) {
  return is_dated(task) ? 1 : length_of(task, settings);
}

Index year_step(Level level, Index records) {
  constexpr Index kYears = kLastRecord - kFirstRecord + 1;
  return std::min(kDials[static_cast<std::size_t>(level)].year_step, kYears / (2 * records));
}

void check_settings(const ItemSettings& s) {
  if (s.tasks.empty() || s.worlds.empty()) fail_usage("task and world: expected at least one of each");
  if (s.passages < 0 || s.passages > kMaxPassages) {
    fail_usage("passages: got {}, expected 0 to {}", s.passages, kMaxPassages);
  }
  if (s.noise < 0) fail_usage("noise: got {}, expected 0 or more", s.noise);
  if (s.contradictions < 0) fail_usage("contradict: got {}, expected 0 or more", s.contradictions);
  if (s.near_misses < 0) fail_usage("near misses: got {}, expected 0 or more", s.near_misses);
  check_lengths(s);
  Index room = s.passages;
  for (const WorldTask task : s.tasks) {
    const Index needed = is_dated(task) ? length_of(task, s) : gold_count(task, s);
    if (s.passages > 0 && s.passages < needed) {
      fail_usage("passages: got {}, but {} needs {} {}", s.passages, name_of(task), needed,
                 is_dated(task) ? "records" : "gold passages");
    }
    if (s.passages > 0) room = std::min(room, s.passages - needed);
  }
  if (s.noise + s.contradictions + s.near_misses > room) {
    fail_usage("noise {}, contradict {} and near miss {} do not fit: {} passages leave room for {}", s.noise,
               s.contradictions, s.near_misses, s.passages, room);
  }
  if (s.split != Split::kAny && (!has(s, WorldTask::kMultihop) || s.passages == 0)) {
    fail_usage("split: only multihop items with passages have evidence in two passages");
  }
  const bool several = std::ranges::any_of(s.tasks, [](WorldTask t) { return t >= WorldTask::kChain; });
  if (s.split != Split::kAny && several) fail_usage("split: only multihop has two gold passages");
  if (s.gold_left_out && s.passages == 0)
    fail_usage("gold position none: there are no passages to leave it out of");
  if (s.gold_left_out && !s.gold_positions.empty()) fail_usage("gold position: got positions and none");
  check_positions(s);
}

std::string_view name_of(WorldTask task) {
  return at(kTasks, task);
}
std::string_view name_of(WorldKind world) {
  return at(kWorlds, world);
}
std::string_view name_of(Distractors distractors) {
  return at(kDistractors, distractors);
}
std::string_view name_of(Split split) {
  return at(kSplits, split);
}
std::string_view name_of(PassageRole role) {
  return at(kRoles, role);
}
std::string_view name_of(Level level) {
  return at(kLevels, level);
}

std::optional<WorldTask> parse_world_task(std::string_view name) {
  return parse<WorldTask>(kTasks, name);
}
std::optional<WorldKind> parse_world_kind(std::string_view name) {
  return parse<WorldKind>(kWorlds, name);
}
std::optional<Distractors> parse_distractors(std::string_view name) {
  return parse<Distractors>(kDistractors, name);
}
std::optional<Split> parse_split(std::string_view name) {
  return parse<Split>(kSplits, name);
}
std::optional<Level> parse_level(std::string_view name) {
  return parse<Level>(kLevels, name);
}

}  // namespace buoy
