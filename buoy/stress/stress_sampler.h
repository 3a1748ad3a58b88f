// Stressors of the sampler: a level as sampler settings.
#pragma once

#include <optional>

#include "buoy/decode/sampler.h"
#include "buoy/stress/stress.h"

namespace buoy {

// The settings under a level; as they are for stressors that leave the sampler alone; nothing where the level
// means nothing to the model's sampler. Throws UsageError for levels that the sampler refuses, and for those
// that would all be the same under the other settings.
std::optional<SamplerSettings> sampler_at(const SamplerSettings& settings, const StressLevel& level,
                                          const ModelConfig& config);

}  // namespace buoy
