// Names of the settings' values, and which settings make no sense together.
#include <algorithm>
#include <array>

#include "buoy/base/error.h"
#include "buoy/world/world_item.h"

namespace buoy {
namespace {

constexpr std::array<std::string_view, 5> kTasks = {"single", "reverse", "slot", "long", "multihop"};
constexpr std::array<std::string_view, 2> kWorlds = {"known", "novel"};
constexpr std::array<std::string_view, 4> kDistractors = {"other", "same-entity", "same-attribute", "mixed"};
constexpr std::array<std::string_view, 3> kSplits = {"any", "near", "far"};
constexpr std::array<std::string_view, 4> kRoles = {"gold", "distractor", "noise", "contradiction"};

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

void check_settings(const ItemSettings& s) {
  if (s.tasks.empty() || s.worlds.empty()) fail_usage("task and world: expected at least one of each");
  if (s.passages < 0 || s.passages > kMaxPassages) {
    fail_usage("passages: got {}, expected 0 to {}", s.passages, kMaxPassages);
  }
  if (s.noise < 0) fail_usage("noise: got {}, expected 0 or more", s.noise);
  if (s.contradictions < 0) fail_usage("contradict: got {}, expected 0 or more", s.contradictions);
  const Index golds = has(s, WorldTask::kMultihop) ? 2 : 1;
  if (s.passages > 0 && s.passages < golds) {
    fail_usage("passages: got {}, but multihop needs 2 gold passages", s.passages);
  }
  const Index room = s.passages == 0 ? 0 : s.passages - golds;
  if (s.noise + s.contradictions > room) {
    fail_usage("noise {} and contradict {} do not fit: {} passages leave room for {}", s.noise,
               s.contradictions, s.passages, room);
  }
  if (s.split != Split::kAny && (!has(s, WorldTask::kMultihop) || s.passages == 0)) {
    fail_usage("split: only multihop items with passages have evidence in two passages");
  }
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

}  // namespace buoy
