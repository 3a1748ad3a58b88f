// Holds a layer's anchors to a reference: two ways, each a correct() of the table of interventions.
#pragma once

#include "buoy/intervene/intervention.h"

namespace buoy {

// Moves anchors and nothing else. The reference set is the first that has anchors: of the same layer over
// steps, or of the same pass over layers. A layer's own anchors O are those of its attention as it computes
// it, by the rule of anchors.h with the settings' ε. Those outside the set are pressed to the level at which
// a key becomes an anchor in this layer, and the set is given what they lose, by one bias for all of it: the
// attention on O and the set together is kept, and so, in every row, are the shares of all other keys
// relative to each other. O within the set: nothing changes.
bool pin_anchors(const LayerView& view, Index round, SampleMemory& memory, LayerChange& change);

// Its control: the same keys are pressed to the same level, and what they lose goes to stand-ins for the set.
bool pin_random(const LayerView& view, Index round, SampleMemory& memory, LayerChange& change);

// The older form: keys outside the set are pressed to the reference's own threshold, and what they lose goes
// to whoever is left.
bool press_anchors(const LayerView& view, Index round, SampleMemory& memory, LayerChange& change);

}  // namespace buoy
