// The tenth of the keys that receive most attention, and how far two such sets agree beyond chance.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "buoy/analysis/anchors.h"

namespace buoy {

struct TopKeys {
  std::vector<Index> positions;  // ⌈N/10⌉, ascending
  Index N = 0;                   // keys that they were chosen from
};

// Those with the largest excess over the null, of equals the first. Nothing where the row is flat (kFlat): it
// has no top.
std::optional<TopKeys> top_keys(std::span<const double> received, std::span<const double> null);

// The share s of the `wanted` keys that are among the `found`, corrected for chance: (s − c) ÷ (1 − c), c =
// |found| ÷ the larger N, which is what as many keys drawn at random would find. 1 where all are found, 0 at
// chance. Nothing where chance finds all.
std::optional<double> agreement(const TopKeys& wanted, const TopKeys& found);

}  // namespace buoy
