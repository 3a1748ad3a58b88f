// Every intervention: a function and a row of the table at the end.
#include <algorithm>
#include <array>
#include <cmath>

#include "buoy/base/error.h"
#include "buoy/base/random.h"
#include "buoy/intervene/intervention.h"

namespace buoy {
namespace {

constexpr Index kGentleRounds = 8;              // of pin-anchors, before it hides keys
constexpr double kBelow = 0.98;                 // of the threshold, where pin-anchors aims
constexpr std::uint32_t kHeadDraws = 1u << 31;  // keeps draws of heads apart from those of steps

// Up to `count` keys with the largest excess, best first.
std::vector<Index> strongest(std::span<const double> received, std::span<const double> null, Index count) {
  std::vector<Index> keys(received.size());
  for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = static_cast<Index>(j);
  const auto excess = [&](Index j) {
    return received[static_cast<std::size_t>(j)] - null[static_cast<std::size_t>(j)];
  };
  const auto last = keys.begin() + std::min(count, std::ssize(keys));
  std::ranges::partial_sort(
      keys, last, [&](Index a, Index b) { return excess(a) != excess(b) ? excess(a) > excess(b) : a < b; });
  keys.erase(last, keys.end());
  return keys;
}

std::vector<Index> strongest_of_head(const LayerView& view, Index head) {
  const std::span<const float> row =
      view.received.subspan(static_cast<std::size_t>(head * view.N), static_cast<std::size_t>(view.N));
  return strongest(std::vector<double>(row.begin(), row.end()), view.null, view.settings.count);
}

// Calls `hide` with every group of heads and the keys that are their anchors.
template <typename Hide>
void for_anchors(const LayerView& view, const Hide& hide) {
  if (view.received.empty()) return;  // there was no step before
  if (!view.settings.per_head) {
    return hide(view.heads, strongest(view.mean_received(), view.null, view.settings.count));
  }
  for (const Index& head : view.heads) hide(std::span(&head, 1), strongest_of_head(view, head));
}

void mask_anchors(const LayerView& view, LayerChange& change) {
  for_anchors(view, [&](std::span<const Index> heads, const std::vector<Index>& keys) {
    for (const Index key : keys) change.hide(heads, key);
  });
}

void mask_bos(const LayerView& view, LayerChange& change) {
  change.hide(view.heads, 0);
}

// For each anchor another key of its class, or, where there is none, any: no anchor, no evidence, none twice.
std::vector<Index> stand_ins(const LayerView& view, const std::vector<Index>& anchors,
                             std::uint32_t first_head) {
  std::vector<bool> taken(static_cast<std::size_t>(view.N), false);
  for (const Index key : anchors) taken[static_cast<std::size_t>(key)] = true;
  const DrawKey draws{.seed = view.settings.seed,
                      .sample = view.stream,
                      .step = static_cast<std::uint32_t>(view.step),
                      .position = static_cast<std::uint32_t>(view.layer)};
  std::vector<Index> chosen;
  for (const Index anchor : anchors) {
    std::vector<Index> same, any;
    for (Index j = 0; j < view.N; ++j) {
      const auto at = static_cast<std::size_t>(j);
      if (taken[at] || view.evidence[at] != 0) continue;
      any.push_back(j);
      if (view.classes[at] == view.classes[static_cast<std::size_t>(anchor)]) same.push_back(j);
    }
    const std::vector<Index>& from = same.empty() ? any : same;
    if (from.empty()) break;
    const double u = uniform(draws, (std::uint64_t{first_head} << 20) + chosen.size());
    chosen.push_back(from[static_cast<std::size_t>(u * static_cast<double>(from.size()))]);
    taken[static_cast<std::size_t>(chosen.back())] = true;
  }
  return chosen;
}

void mask_random(const LayerView& view, LayerChange& change) {
  for_anchors(view, [&](std::span<const Index> heads, const std::vector<Index>& anchors) {
    for (const Index key : stand_ins(view, anchors, static_cast<std::uint32_t>(heads.front()))) {
      change.hide(heads, key);
    }
  });
}

FrozenAnchors freeze(std::span<const double> received, std::span<const double> null, double epsilon) {
  double mean = 0, squares = 0;
  const double N = static_cast<double>(received.size());
  for (std::size_t j = 0; j < received.size(); ++j) mean += (received[j] - null[j]) / N;
  for (std::size_t j = 0; j < received.size(); ++j) {
    const double d = received[j] - null[j] - mean;
    squares += d * d;
  }
  return {.positions = find_anchors(received, null, {.epsilon = epsilon, .min_lift = 0}),
          .threshold = epsilon * std::sqrt(squares / N)};
}

// Step 0 of the same layer, or layer 0 of the same pass. Where rows that were computed stand, later passes
// are held to layer 0 of the first: a lower threshold could not be kept any more.
bool is_reference(const LayerView& view) {
  if (view.settings.parameter == "steps") return view.step == 0;
  return view.layer == 0 && (view.rows == PassRows::kAnew || view.step == 0);
}

// Keeps every key outside the frozen set at or below the frozen threshold.
bool pin_anchors(const LayerView& view, Index round, SampleMemory& memory, LayerChange& change) {
  const bool across_layers = view.settings.parameter == "layers";
  std::optional<FrozenAnchors>& frozen =
      memory.frozen[static_cast<std::size_t>(across_layers ? 0 : view.layer)];
  const std::vector<double> received = view.mean_received();
  if (is_reference(view)) {
    frozen = freeze(received, view.null, view.settings.epsilon);
    return false;
  }
  if (!view.acts) return false;
  check(frozen.has_value(), "step 0 comes before the others, and layer 0 too");
  bool again = false;
  for (Index j = 0; j < view.N; ++j) {
    const auto at = static_cast<std::size_t>(j);
    const double allowed = view.null[at] + frozen->threshold;
    if (received[at] <= allowed || std::ranges::binary_search(frozen->positions, j)) continue;
    if (change.hides(view.heads, j)) continue;  // above by rounding alone
    again = true;
    if (round < kGentleRounds) {
      change.add_bias(view.heads, j, std::log(kBelow * allowed / received[at]));
    } else {
      change.hide(view.heads, j);
      ++memory.hidden;
    }
  }
  if (again) ++memory.corrections;
  return again;
}

void cut(const LayerView& view, std::span<const HeadId> heads, LayerChange& change) {
  for (const HeadId& head : heads) {
    if (head.layer == view.layer) change.head_gain[static_cast<std::size_t>(head.head)] = 0;
  }
}

std::span<const HeadId> best_heads(const LayerView& view) {
  return std::span(view.settings.ranking).first(static_cast<std::size_t>(view.settings.count));
}

void cut_heads(const LayerView& view, LayerChange& change) {
  cut(view, best_heads(view), change);
}

// As many of the others, drawn anew for every sample and then kept.
void cut_random(const LayerView& view, LayerChange& change) {
  std::vector<HeadId> others(view.settings.ranking.begin() + view.settings.count,
                             view.settings.ranking.end());
  std::ranges::sort(others);
  const DrawKey draws{.seed = view.settings.seed, .sample = view.stream, .step = kHeadDraws};
  const std::size_t wanted = std::min(static_cast<std::size_t>(view.settings.count), others.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    const double u = uniform(draws, i);
    std::swap(others[i], others[i + static_cast<std::size_t>(u * static_cast<double>(others.size() - i))]);
  }
  cut(view, std::span(others).first(wanted), change);
}

using enum InterventionParameter;

constexpr std::array kInterventions = {
    Intervention{.name = "mask-anchors",
                 .about = "the k keys with the largest excess in an unmodified pass are hidden",
                 .parameter = kCount,
                 .control = "mask-random",
                 .needs_unmodified = true,
                 .needs_classes = false,
                 .needs_ranking = false,
                 .change = mask_anchors,
                 .correct = nullptr},
    Intervention{.name = "mask-bos",
                 .about = "the first key is hidden",
                 .parameter = kNone,
                 .control = "mask-random=1",
                 .needs_unmodified = false,
                 .needs_classes = false,
                 .needs_ranking = false,
                 .change = mask_bos,
                 .correct = nullptr},
    Intervention{.name = "mask-random",
                 .about = "k random keys are hidden, of the anchors' classes but no anchors and no evidence",
                 .parameter = kCount,
                 .control = "",
                 .needs_unmodified = true,
                 .needs_classes = true,
                 .needs_ranking = false,
                 .change = mask_random,
                 .correct = nullptr},
    Intervention{.name = "pin-anchors",
                 .about = "the anchors of the first step, or of the first layer, stay the only ones",
                 .parameter = kAcross,
                 .control = "",
                 .needs_unmodified = false,
                 .needs_classes = false,
                 .needs_ranking = false,
                 .change = nullptr,
                 .correct = pin_anchors},
    Intervention{.name = "cut-heads",
                 .about = "the n strongest retrieval heads, ranked on other items, give nothing",
                 .parameter = kCount,
                 .control = "cut-random",
                 .needs_unmodified = false,
                 .needs_classes = false,
                 .needs_ranking = true,
                 .change = cut_heads,
                 .correct = nullptr},
    Intervention{.name = "cut-random",
                 .about = "n other heads give nothing, drawn for each sample",
                 .parameter = kCount,
                 .control = "",
                 .needs_unmodified = false,
                 .needs_classes = false,
                 .needs_ranking = true,
                 .change = cut_random,
                 .correct = nullptr},
};

}  // namespace

std::span<const Intervention> interventions() {
  return kInterventions;
}

}  // namespace buoy
