// Keys that stand in for anchors in a control: of the same kind, in the same kind of place, drawn at random.
#pragma once

#include <span>
#include <vector>

#include "buoy/base/random.h"
#include "buoy/intervene/intervention.h"

namespace buoy {

// For each of `keys` another key of the same class, kind of region, third of the places (of passages) and
// evidence status, drawn evenly from those there are; none of `keys`, none twice. Keys that find none so give
// way in this order: the third, the kind of region, the class, and last the evidence status (not with
// spare_evidence). Exact matches are drawn for all keys before any gives way. Ascending; one short for each
// key without any stand-in. `dose` counts who gave way, and in what.
std::vector<Index> stand_ins(const LayerView& view, std::span<const Index> keys, const DrawKey& draws,
                             LayerDose& dose);

}  // namespace buoy
