// Rotary frequencies as the families' own float32 code computes them.
#pragma once

#include <vector>

#include "buoy/compute/backend.h"
#include "buoy/model/config.h"

namespace buoy {

// One frequency per pair of rotated dimensions, half as many as those, with Llama 3.1's scaling where
// configured.
std::vector<float> rope_frequencies(const ModelConfig& config);

// Cosines and sines for positions [0, config.context).
RopeTable make_rope_table(const ModelConfig& config, Backend& backend);

}  // namespace buoy
