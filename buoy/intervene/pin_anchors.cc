#include "buoy/intervene/pin_anchors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "buoy/base/error.h"
#include "buoy/intervene/stand_ins.h"

namespace buoy {
namespace {

constexpr Index kMostRounds = 32;
constexpr double kAim = 0.99;        // of a key's level, where pressing aims
constexpr double kTolerance = 0.01;  // of a key's level: how far from the aim a key may stay
constexpr double kKept = 0.005;      // of the attention on anchors: how much of it may be lost or won

constexpr std::uint32_t kSetDraws = 1u << 30;  // keeps draws of sets apart from those of steps and heads

bool across_layers(const LayerView& view) {
  return view.settings.parameter == "layers";
}

// Step 0 of the same layer, or layer 0 of the same pass, or what comes after where that has no anchors.
std::optional<FrozenAnchors>& reference_of(const LayerView& view, SampleMemory& memory) {
  std::optional<FrozenAnchors>& frozen =
      memory.frozen[static_cast<std::size_t>(across_layers(view) ? 0 : view.layer)];
  if (across_layers(view) && view.layer == 0) frozen.reset();
  return frozen;
}

double deviation_of_excess(std::span<const double> received, std::span<const double> null) {
  double mean = 0, squares = 0;
  const double N = static_cast<double>(received.size());
  for (std::size_t j = 0; j < received.size(); ++j) mean += (received[j] - null[j]) / N;
  for (std::size_t j = 0; j < received.size(); ++j) {
    const double d = received[j] - null[j] - mean;
    squares += d * d;
  }
  return std::sqrt(squares / N);
}

// What a key may receive in this layer without being an anchor.
std::vector<double> levels_of(const LayerView& view, std::span<const double> free,
                              const AnchorOptions& rule) {
  const double threshold = rule.epsilon * deviation_of_excess(free, view.null);
  std::vector<double> level(free.size());
  for (std::size_t j = 0; j < level.size(); ++j) {
    level[j] = std::max(view.null[j] + threshold, rule.min_lift * view.null[j]);
  }
  return level;
}

double sum_over(std::span<const double> values, std::span<const Index> keys) {
  double sum = 0;
  for (const Index j : keys) sum += values[static_cast<std::size_t>(j)];
  return sum;
}

[[maybe_unused]] bool among(std::span<const Index> ascending, Index key) {
  return std::ranges::binary_search(ascending, key);
}

// What a round aims at.
struct PinAim {
  std::vector<double> pressed;         // as PinnedLayer::pressed
  double receivers = 0, together = 0;  // attention on the receivers; on them and the pressed
};

PinAim aim_of(const PinnedLayer& layer, std::span<const Index> receivers) {
  PinAim aim;
  aim.receivers = sum_over(layer.free, receivers);
  aim.together = aim.receivers + sum_over(layer.free, layer.pressed);
  for (const Index j : layer.pressed) {
    const auto at = static_cast<std::size_t>(j);
    aim.pressed.push_back(std::min(kAim * layer.level[at], layer.free[at]));
    aim.receivers += layer.free[at] - aim.pressed.back();
  }
  return aim;
}

// Keys that rise above their level while others fall are pressed with them.
bool add_risen(std::span<const double> received, const FrozenAnchors& frozen, PinnedLayer& layer) {
  std::vector<Index> risen;
  for (Index j = 0; j < std::ssize(received); ++j) {
    const auto at = static_cast<std::size_t>(j);
    if (received[at] <= layer.level[at] || among(layer.pressed, j)) continue;
    if (!among(frozen.positions, j) && !among(frozen.receivers, j)) risen.push_back(j);
  }
  std::vector<Index> merged;
  std::ranges::merge(layer.pressed, risen, std::back_inserter(merged));
  layer.pressed = std::move(merged);
  return !risen.empty();
}

bool reached(std::span<const double> received, const PinnedLayer& layer, std::span<const Index> receivers,
             const PinAim& aim) {
  for (std::size_t i = 0; i < layer.pressed.size(); ++i) {
    const auto at = static_cast<std::size_t>(layer.pressed[i]);
    if (received[at] > layer.level[at]) return false;
    if (std::abs(received[at] - aim.pressed[i]) > kTolerance * layer.level[at]) return false;
  }
  const double together = sum_over(received, layer.pressed) + sum_over(received, receivers);
  return std::abs(together - aim.together) <= kKept * aim.together;
}

// By how much to move the bias of an unknown (a key, or the set) whose log-odds against the untouched keys
// are `now`. Where all rows are alike, odds move with the bias one to one; where some rows give the key
// everything they have, less, and the last round says how much less.
double next_step(PinnedLayer& layer, std::size_t unknown, double now, double aim) {
  constexpr double kLeastSlope = 0.3, kLongestStep = 3;
  double slope = 1;
  if (layer.step[unknown] != 0) {
    slope = std::clamp((now - layer.odds[unknown]) / layer.step[unknown], kLeastSlope, 1.0);
  }
  layer.odds[unknown] = now;
  layer.step[unknown] = std::clamp((aim - now) / slope, -kLongestStep, kLongestStep);
  return layer.step[unknown];
}

void move_biases(const LayerView& view, std::span<const double> received, std::span<const Index> receivers,
                 const PinAim& aim, PinnedLayer& layer, LayerChange& change) {
  const auto log_of = [](double x) { return std::log(std::max(x, 1e-12)); };
  const double total = std::accumulate(received.begin(), received.end(), 0.0);
  const double given = sum_over(received, receivers);
  const double untouched = log_of(total - given - sum_over(received, layer.pressed));
  const double untouched_aim = log_of(total - aim.together);
  for (std::size_t i = 0; i < layer.pressed.size(); ++i) {
    const auto at = static_cast<std::size_t>(layer.pressed[i]);
    change.add_bias(
        view.heads, layer.pressed[i],
        next_step(layer, at, log_of(received[at]) - untouched, log_of(aim.pressed[i]) - untouched_aim));
  }
  const double step =
      next_step(layer, received.size(), log_of(given) - untouched, log_of(aim.receivers) - untouched_aim);
  for (const Index j : receivers) change.add_bias(view.heads, j, step);
}

void count(const LayerView& view, std::span<const double> received, const PinnedLayer& layer,
           std::span<const Index> receivers, LayerChange& change) {
  LayerDose& dose = change.dose;
  const auto bias = [&](Index j) {
    return std::abs(double{change.key_bias[static_cast<std::size_t>(view.heads.front() * change.N + j)]});
  };
  dose[Dose::kPressed] += static_cast<double>(layer.pressed.size());
  dose[Dose::kRaised] += static_cast<double>(receivers.size());
  dose.biased += std::ssize(layer.pressed) + std::ssize(receivers);
  for (const Index j : layer.pressed) dose[Dose::kBias] += bias(j);
  for (const Index j : receivers) dose[Dose::kBias] += bias(j);
  dose[Dose::kMass] += sum_over(layer.free, layer.pressed) - sum_over(received, layer.pressed);
}

// The layer as it computes its attention: freezes it, or finds what is to be pressed. False: nothing is.
bool begin_layer(const LayerView& view, std::vector<double> free, std::optional<FrozenAnchors>& frozen,
                 SampleMemory& memory) {
  const AnchorOptions rule{.epsilon = view.settings.epsilon};
  const std::vector<Index> own = find_anchors(free, view.null, rule);
  if (!frozen) {
    if (!own.empty()) frozen = FrozenAnchors{.positions = own, .threshold = 0, .receivers = {}};
    return false;
  }
  memory.pinned = {};
  memory.pinned.odds.assign(free.size() + 1, 0.0);
  memory.pinned.step = memory.pinned.odds;
  memory.pinned.free = std::move(free);
  for (const Index j : own) {
    if (!among(frozen->positions, j) && !among(frozen->receivers, j)) memory.pinned.pressed.push_back(j);
  }
  if (memory.pinned.pressed.empty()) return false;
  memory.pinned.level = levels_of(view, memory.pinned.free, rule);
  return true;
}

// One round. What cannot be reached (too few rows see the set, or all that they have is on it already) is not
// done by halves.
bool pin(const LayerView& view, Index round, const FrozenAnchors& frozen, SampleMemory& memory,
         LayerChange& change) {
  PinnedLayer& layer = memory.pinned;
  if (layer.given_up) return false;
  const std::vector<double> received = view.mean_received();
  const bool more = add_risen(received, frozen, layer);
  const PinAim aim = aim_of(layer, frozen.receivers);
  if (!more && reached(received, layer, frozen.receivers, aim)) {
    count(view, received, layer, frozen.receivers, change);
    return false;
  }
  ++memory.corrections;
  if (round < kMostRounds && !frozen.receivers.empty()) {
    move_biases(view, received, frozen.receivers, aim, layer, change);
  } else {
    layer.given_up = true;
    change.dose[Dose::kUnsettled] += 1;
    std::ranges::fill(change.key_bias, 0.0f);
  }
  return true;
}

// `give` fills in the receivers of a set that has just been frozen.
template <typename Give>
bool pin_to(const LayerView& view, Index round, SampleMemory& memory, LayerChange& change, const Give& give) {
  std::optional<FrozenAnchors>& frozen =
      round == 0 ? reference_of(view, memory)
                 : memory.frozen[static_cast<std::size_t>(across_layers(view) ? 0 : view.layer)];
  if (round == 0) {
    const bool had = frozen.has_value();
    const bool moves = begin_layer(view, view.mean_received(), frozen, memory);
    if (!had && frozen) give(*frozen);
    if (!had || !view.acts) return false;
    change.dose.reached = 1;
    if (!moves) return false;
  }
  return pin(view, round, *frozen, memory, change);
}

// Of the older form. Where rows that were computed stand, later passes are held to layer 0 of the first: a
// lower threshold could not be kept any more.
bool is_pressing_reference(const LayerView& view) {
  if (!across_layers(view)) return view.step == 0;
  return view.layer == 0 && (view.rows == PassRows::kAnew || view.step == 0);
}

constexpr Index kGentleRounds = 8;  // of press-anchors, before it hides keys
constexpr double kBelow = 0.98;     // of the threshold, where press-anchors aims

void count_pressed(const LayerView& view, std::span<const double> received, const PinnedLayer& layer,
                   LayerChange& change) {
  for (const Index j : layer.pressed) {
    change.dose[change.hides(view.heads, j) ? Dose::kHidden : Dose::kPressed] += 1;
    change.dose[Dose::kMass] +=
        layer.free[static_cast<std::size_t>(j)] - received[static_cast<std::size_t>(j)];
  }
}

}  // namespace

bool pin_anchors(const LayerView& view, Index round, SampleMemory& memory, LayerChange& change) {
  return pin_to(view, round, memory, change,
                [](FrozenAnchors& frozen) { frozen.receivers = frozen.positions; });
}

bool pin_random(const LayerView& view, Index round, SampleMemory& memory, LayerChange& change) {
  const DrawKey draws{.seed = view.settings.seed,
                      .sample = view.stream,
                      .step = kSetDraws + static_cast<std::uint32_t>(view.step),
                      .position = static_cast<std::uint32_t>(view.layer)};
  return pin_to(view, round, memory, change, [&](FrozenAnchors& frozen) {
    frozen.receivers = stand_ins(view, frozen.positions, draws, change.dose);
  });
}

bool press_anchors(const LayerView& view, Index round, SampleMemory& memory, LayerChange& change) {
  std::optional<FrozenAnchors>& frozen =
      memory.frozen[static_cast<std::size_t>(across_layers(view) ? 0 : view.layer)];
  const std::vector<double> received = view.mean_received();
  if (is_pressing_reference(view)) {
    const AnchorOptions rule{.epsilon = view.settings.epsilon, .min_lift = 0};
    frozen = FrozenAnchors{.positions = find_anchors(received, view.null, rule),
                           .threshold = rule.epsilon * deviation_of_excess(received, view.null),
                           .receivers = {}};
    return false;
  }
  if (!view.acts) return false;
  check(frozen.has_value(), "step 0 comes before the others, and layer 0 too");
  PinnedLayer& layer = memory.pinned;
  if (round == 0) {
    layer = {};
    layer.free = received;
    change.dose.reached = 1;
  }
  bool again = false;
  for (Index j = 0; j < view.N; ++j) {
    const auto at = static_cast<std::size_t>(j);
    const double allowed = view.null[at] + frozen->threshold;
    if (received[at] <= allowed || among(frozen->positions, j)) continue;
    if (change.hides(view.heads, j)) continue;  // above by rounding alone
    again = true;
    if (std::ranges::find(layer.pressed, j) == layer.pressed.end()) layer.pressed.push_back(j);
    if (round < kGentleRounds) {
      change.add_bias(view.heads, j, std::log(kBelow * allowed / received[at]));
    } else {
      change.hide(view.heads, j);
    }
  }
  if (again) {
    ++memory.corrections;
  } else {
    count_pressed(view, received, layer, change);
  }
  return again;
}

}  // namespace buoy
