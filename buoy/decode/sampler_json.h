// Sampler settings out of JSON: as users name them, and as records of runs hold them.
#pragma once

#include <set>
#include <string>

#include "buoy/decode/sampler.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

// What becomes of a setting that would have no effect on a model.
enum class Useless { kRefuse, kIgnore };

// Settings before it is known which model they are for, and the names of those that were set.
struct NamedSettings {
  SamplerSettings settings;
  std::set<std::string> given;
};

// Settings by the names of sampler_setting_names(); what is absent or null keeps the value it has in
// `settings`. `place` starts every message. Throws Error for a value of the wrong kind, UsageError for a name
// that is none and for a value that none of the samplers knows.
NamedSettings named_settings(const Json& json, const std::string& place, SamplerSettings settings = {});

// The same for a model. Throws UsageError for what is useless and refused, too, and as check_settings().
SamplerSettings sampler_from_json(const Json& json, const std::string& place, const ModelConfig& config,
                                  SamplerSettings settings = {}, Useless useless = Useless::kRefuse);

// What to_json() made, for the same model: the settings draw the same tokens. Throws as above.
SamplerSettings recorded_sampler(const Json& json, const std::string& place, const ModelConfig& config);

}  // namespace buoy
