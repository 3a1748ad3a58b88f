// One head's attention as a heatmap of queries × keys.
#pragma once

#include "buoy/draw/heatmap.h"
#include "buoy/engine/attention_view.h"

namespace buoy {

// Weights as they are, on a square root scale; the strongest keys are named, the rows that write outlined.
Heatmap attention_heatmap(const AttentionView& view);

}  // namespace buoy
