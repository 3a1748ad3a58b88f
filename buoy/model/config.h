// A checkpoint's config.json (and generation_config.json) as sizes and switches.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "buoy/io/json_fwd.h"
#include "buoy/model/family.h"

namespace buoy {

// Llama 3.1's stretched rotary frequencies.
struct RopeScaling {
  double factor = 1, low_freq_factor = 1, high_freq_factor = 1;
  Index original_context = 0;
};

struct ModelConfig {
  const Family* family = nullptr;
  Index L = 0, E = 0, H = 0, Hkv = 0, D = 0, F = 0;
  Index V = 0;  // rows of the embedding and of the head
  Index context = 0;
  Mask mask;
  float rms_epsilon = 0;
  double rope_theta = 0;
  std::optional<RopeScaling> rope_scaling;
  bool tied = false;
  bool qkv_bias = false;
  std::optional<TokenId> mask_id;
  std::optional<TokenId> end_of_turn;
  std::vector<TokenId> eos_ids;  // of config.json and generation_config.json, sorted, each once

  // What layer l is made of. The layers of today's families are all alike.
  const LayerShape& layer(Index /*l*/) const { return family->layer; }
};

// Reads and checks config.json in a checkpoint directory. Throws Error: a missing directory or file, an
// unknown model_type (the message lists the known), missing or impossible sizes, a setting the engine cannot
// honour.
ModelConfig read_model_config(const std::filesystem::path& directory);

// The same from parsed JSON; `generation` may be null. `place` starts every message.
ModelConfig parse_model_config(const Json& config, const Json* generation, const std::string& place);

}  // namespace buoy
