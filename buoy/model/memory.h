// How much memory a model needs on the host, and how its weights are best held.
#pragma once

#include "buoy/compute/backend.h"
#include "buoy/model/config.h"
#include "buoy/model/weights.h"

namespace buoy {

struct MemoryNeeds {
  Index mapped_bytes = 0;       // the checkpoint's tensors, mapped: evictable
  Index widened_bytes = 0;      // float32 copies of all projections, when widened once
  Index activation_bytes = 0;   // of a pass over `tokens`
  Index cache_bytes = 0;        // keys and values of `tokens`, where a pass leaves them
  Index active_parameters = 0;  // those that one token goes through: all but the experts it does not go to
  Index tokens = 0;
};

MemoryNeeds estimate_memory(const ModelConfig& config, const WeightReport& weights, Index tokens);

// kOnce while the float32 copies take at most half of the machine's memory.
Widen choose_widening(const MemoryNeeds& needs);

// Physical memory of this machine in bytes.
Index physical_memory();

}  // namespace buoy
