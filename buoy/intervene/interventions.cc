// Every intervention: a function, here or in pin_anchors.cc, and a row of the table at the end.
#include <algorithm>
#include <array>

#include "buoy/base/random.h"
#include "buoy/intervene/pin_anchors.h"
#include "buoy/intervene/stand_ins.h"

namespace buoy {
namespace {

constexpr std::uint32_t kHeadDraws = 1u << 31;  // keeps draws of heads apart from those of steps

// Up to `count` keys with the largest excess, best first; no evidence where that is to be spared.
std::vector<Index> strongest(const LayerView& view, std::span<const double> received) {
  std::vector<Index> keys;
  for (Index j = 0; j < view.N; ++j) {
    if (!view.settings.spare_evidence || view.evidence[static_cast<std::size_t>(j)] == 0) keys.push_back(j);
  }
  const auto excess = [&](Index j) {
    return received[static_cast<std::size_t>(j)] - view.null[static_cast<std::size_t>(j)];
  };
  const auto last = keys.begin() + std::min(view.settings.count, std::ssize(keys));
  std::ranges::partial_sort(
      keys, last, [&](Index a, Index b) { return excess(a) != excess(b) ? excess(a) > excess(b) : a < b; });
  keys.erase(last, keys.end());
  return keys;
}

// Heads that share their anchors, and what keys receive from them on average.
struct HeadGroup {
  std::span<const Index> heads;
  std::vector<double> received;  // [N]
};

// Calls `act` with every group of heads and the keys that are their anchors.
template <typename Act>
void for_anchors(const LayerView& view, const Act& act) {
  if (view.received.empty()) return;  // there was no step before
  if (!view.settings.per_head) {
    const HeadGroup all{.heads = view.heads, .received = view.mean_received()};
    return act(all, strongest(view, all.received));
  }
  for (const Index& head : view.heads) {
    const auto row =
        view.received.subspan(static_cast<std::size_t>(head * view.N), static_cast<std::size_t>(view.N));
    const HeadGroup one{.heads = std::span(&head, 1), .received = {row.begin(), row.end()}};
    act(one, strongest(view, one.received));
  }
}

// Hides the keys from the group and counts them; of a head by itself as its share of the heads.
void hide(const LayerView& view, const HeadGroup& group, std::span<const Index> keys, LayerChange& change) {
  const double share = static_cast<double>(group.heads.size()) / static_cast<double>(view.heads.size());
  for (const Index key : keys) {
    const auto at = static_cast<std::size_t>(key);
    change.hide(group.heads, key);
    change.dose[Dose::kHidden] += share;
    if (view.evidence[at] != 0) change.dose[Dose::kEvidence] += share;
    if (!group.received.empty()) change.dose[Dose::kMass] += share * group.received[at];
  }
}

void mask_anchors(const LayerView& view, LayerChange& change) {
  for_anchors(view, [&](const HeadGroup& group, const std::vector<Index>& anchors) {
    hide(view, group, anchors, change);
  });
}

void mask_bos(const LayerView& view, LayerChange& change) {
  const Index first = 0;
  hide(view, {.heads = view.heads, .received = {}}, {&first, 1}, change);
}

void mask_random(const LayerView& view, LayerChange& change) {
  for_anchors(view, [&](const HeadGroup& group, const std::vector<Index>& anchors) {
    const DrawKey draws{.seed = view.settings.seed,
                        .sample = view.stream,
                        .step = static_cast<std::uint32_t>(view.step),
                        .position = static_cast<std::uint32_t>(view.layer) << 16 |
                                    static_cast<std::uint32_t>(group.heads.front())};
    hide(view, group, stand_ins(view, anchors, draws, change.dose), change);
  });
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

constexpr Dose kMaskDoses[] = {Dose::kHidden, Dose::kEvidence, Dose::kMass};
constexpr Dose kMaskBosDoses[] = {Dose::kHidden, Dose::kEvidence};
constexpr Dose kMaskRandomDoses[] = {Dose::kHidden,     Dose::kEvidence,     Dose::kMass,
                                     Dose::kOtherThird, Dose::kOtherRegion,  Dose::kOtherClass,
                                     Dose::kMissing,    Dose::kOtherEvidence};
constexpr Dose kPinDoses[] = {Dose::kPressed, Dose::kRaised, Dose::kBias, Dose::kMass, Dose::kUnsettled};
constexpr Dose kPinRandomDoses[] = {
    Dose::kPressed,    Dose::kRaised,      Dose::kBias,       Dose::kMass,    Dose::kUnsettled,
    Dose::kOtherThird, Dose::kOtherRegion, Dose::kOtherClass, Dose::kMissing, Dose::kOtherEvidence};
constexpr Dose kPressDoses[] = {Dose::kPressed, Dose::kHidden, Dose::kMass};

constexpr std::array kInterventions = {
    Intervention{.name = "mask-anchors",
                 .about = "the k keys with the largest excess in an unmodified pass are hidden",
                 .parameter = kCount,
                 .control = "mask-random",
                 .needs_unmodified = true,
                 .change = mask_anchors,
                 .doses = kMaskDoses},
    Intervention{.name = "mask-bos",
                 .about = "the first key is hidden",
                 .parameter = kNone,
                 .control = "mask-random=1",
                 .change = mask_bos,
                 .doses = kMaskBosDoses},
    Intervention{
        .name = "mask-random",
        .about = "for each of k anchors another key like it is hidden: class, place, evidence or not",
        .parameter = kCount,
        .needs_unmodified = true,
        .needs_classes = true,
        .change = mask_random,
        .doses = kMaskRandomDoses},
    Intervention{.name = "pin-anchors",
                 .about = "the anchors of the first step, or of the first layer, receive what others would",
                 .parameter = kAcross,
                 .control = "pin-random",
                 .correct = pin_anchors,
                 .rows = CorrectedRows::kOfThePass,
                 .doses = kPinDoses},
    Intervention{.name = "pin-random",
                 .about = "keys like those anchors, drawn at random, receive it",
                 .parameter = kAcross,
                 .needs_classes = true,
                 .correct = pin_random,
                 .rows = CorrectedRows::kOfThePass,
                 .doses = kPinRandomDoses},
    Intervention{
        .name = "press-anchors",
        .about = "other keys are pressed below the threshold of the first step, or of the first layer",
        .parameter = kAcross,
        .correct = press_anchors,
        .doses = kPressDoses},
    Intervention{.name = "cut-heads",
                 .about = "the n strongest retrieval heads, ranked on other items, give nothing",
                 .parameter = kCount,
                 .control = "cut-random",
                 .needs_ranking = true,
                 .change = cut_heads},
    Intervention{.name = "cut-random",
                 .about = "n other heads give nothing, drawn for each sample",
                 .parameter = kCount,
                 .needs_ranking = true,
                 .change = cut_random},
};

}  // namespace

std::span<const Intervention> interventions() {
  return kInterventions;
}

}  // namespace buoy
