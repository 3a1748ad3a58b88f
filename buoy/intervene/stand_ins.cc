#include "buoy/intervene/stand_ins.h"

#include <algorithm>
#include <optional>

namespace buoy {
namespace {

// What a stand-in must share with its key, strictest first, and what is counted where no stricter one was
// found.
struct Likeness {
  bool third, region, token_class, evidence;
  std::optional<Dose> counted;
};

constexpr Likeness kLikenesses[] = {
    {.third = true, .region = true, .token_class = true, .evidence = true, .counted = std::nullopt},
    {.third = false, .region = true, .token_class = true, .evidence = true, .counted = Dose::kOtherThird},
    {.third = false, .region = false, .token_class = true, .evidence = true, .counted = Dose::kOtherRegion},
    {.third = false, .region = false, .token_class = false, .evidence = true, .counted = Dose::kOtherClass},
    {.third = false,
     .region = false,
     .token_class = false,
     .evidence = false,
     .counted = Dose::kOtherEvidence},
};

bool alike(const LayerView& view, const Likeness& likeness, Index a, Index b) {
  const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
  return (!likeness.third || view.places[i].third == view.places[j].third) &&
         (!likeness.region || view.places[i].kind == view.places[j].kind) &&
         (!likeness.token_class || view.classes[i] == view.classes[j]) &&
         (!likeness.evidence || view.evidence[i] == view.evidence[j]);
}

}  // namespace

std::vector<Index> stand_ins(const LayerView& view, std::span<const Index> keys, const DrawKey& draws,
                             LayerDose& dose) {
  std::vector<bool> taken(static_cast<std::size_t>(view.N), false);
  for (const Index key : keys) taken[static_cast<std::size_t>(key)] = true;
  if (view.settings.spare_evidence) {
    for (std::size_t j = 0; j < taken.size(); ++j) taken[j] = taken[j] || view.evidence[j] != 0;
  }
  Draws next(draws);
  std::vector<Index> open(keys.begin(), keys.end()), chosen;
  dose.matched += std::ssize(open);
  for (const Likeness& likeness : kLikenesses) {
    std::vector<Index> left;
    for (const Index key : open) {
      std::vector<Index> from;
      for (Index j = 0; j < view.N; ++j) {
        if (!taken[static_cast<std::size_t>(j)] && alike(view, likeness, key, j)) from.push_back(j);
      }
      if (from.empty()) {
        left.push_back(key);
        continue;
      }
      chosen.push_back(from[static_cast<std::size_t>(next.below(std::ssize(from)))]);
      taken[static_cast<std::size_t>(chosen.back())] = true;
      if (likeness.counted) dose[*likeness.counted] += 1;
    }
    open = std::move(left);
  }
  dose[Dose::kMissing] += static_cast<double>(open.size());
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace buoy
