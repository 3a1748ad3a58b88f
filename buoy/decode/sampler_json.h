// Sampler settings out of JSON: as users name them, and as records of runs hold them.
#pragma once

#include <string>

#include "buoy/decode/sampler.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

// What becomes of a setting that would have no effect on a model.
enum class Useless { kRefuse, kIgnore };

// Settings by the names of sampler_setting_names(); what is absent or null keeps the value it has in
// `settings`. `place` starts the messages about values. Throws Error for a value of the wrong kind,
// UsageError for a name that is none, for what is useless and refused, and as check_settings().
SamplerSettings sampler_from_json(const Json& json, const std::string& place, const ModelConfig& config,
                                  SamplerSettings settings = {}, Useless useless = Useless::kRefuse);

// What to_json() made, for the same model: the settings draw the same tokens. Throws as above.
SamplerSettings recorded_sampler(const Json& json, const std::string& place, const ModelConfig& config);

}  // namespace buoy
