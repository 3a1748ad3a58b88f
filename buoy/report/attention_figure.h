// One head's attention as a heatmap of queries × keys.
#pragma once

#include "buoy/draw/heatmap.h"
#include "buoy/engine/attention_view.h"

namespace buoy {

// Weights as they are, on a square root scale. Tokens are named where there is room for all, else the keys
// that receive most.
Heatmap attention_heatmap(const AttentionView& view);

}  // namespace buoy
