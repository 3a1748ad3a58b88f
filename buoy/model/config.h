// A checkpoint's config.json (and generation_config.json) as sizes and switches.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/io/json_fwd.h"
#include "buoy/model/family.h"

namespace buoy {

// Llama 3.1's stretched rotary frequencies.
struct RopeScaling {
  double factor = 1, low_freq_factor = 1, high_freq_factor = 1;
  Index original_context = 0;
};

// The experts of the layers that have them.
struct ExpertShape {
  Index count = 0, F = 0;  // how many, and how wide
  Index shared_F = 0;      // width of the expert that every row goes through; 0: none
  RouterRule rule;
  bool bias = false;
  std::vector<bool> layers;  // [L] which have them

  bool in_layer(Index l) const { return layers[static_cast<std::size_t>(l)]; }
};

// The state space mixers of the layers that have them.
struct SsdShape {
  Index n = 0, K = 0;        // size of a head's state, width of the convolution (odd)
  Index F = 0;               // MLP width of those layers
  std::vector<bool> layers;  // [L] which have them

  bool in_layer(Index l) const { return layers[static_cast<std::size_t>(l)]; }
};

struct ModelConfig {
  const Family* family = nullptr;
  bool told_family = false;  // by the user, and not by config.json
  Index L = 0, E = 0, H = 0, Hkv = 0, D = 0, F = 0;
  Index V = 0;  // rows of the embedding and of the head
  Index context = 0;
  Mask mask;        // of a pass that is told no other
  Index block = 0;  // positions a block; 0: no blocks
  float rms_epsilon = 0;
  double rope_theta = 0;
  std::optional<RopeScaling> rope_scaling;
  Index rotary = 0;  // dimensions of a head that are rotated, the first ones; 0: all
  bool tied = false;
  bool qkv_bias = false, output_bias = false;
  bool qk_norm = false;    // RMS norm of every head of queries and keys, before rotation
  float clip_qkv = 0;      // bound of queries, keys and values, after their norm; 0: none
  double query_scale = 1;  // queries times this; scores are divided by √D besides
  std::optional<ExpertShape> experts;
  std::optional<SsdShape> ssd;
  std::optional<TokenId> mask_id;
  std::optional<TokenId> end_of_turn;
  std::vector<TokenId> eos_ids;  // of config.json and generation_config.json, sorted, each once

  // What layer l is made of.
  LayerShape layer(Index l) const {
    LayerShape shape = family->layer;
    if (experts && experts->in_layer(l)) shape.feed_forward = FeedForwardKind::kExperts;
    if (ssd && ssd->in_layer(l)) {
      shape.mixer = MixerKind::kSsd;
      shape.positions = PositionKind::kNone;
    }
    return shape;
  }
  // The MLP width of layer l, where it is dense.
  Index mlp(Index l) const { return ssd && ssd->in_layer(l) ? ssd->F : F; }
  Index rotated() const { return rotary == 0 ? D : rotary; }
};

// Reads and checks config.json in a checkpoint directory; the tokenizer's files are asked for the mask token
// where it is silent. The family goes by the first of "architectures", by "model_type" where there are none,
// or by `family`, a key of family_keys(), where that is not empty. Throws Error: a missing directory or file,
// an unknown family (the message lists the known), missing or impossible sizes, a setting the engine cannot
// honour; UsageError for a `family` that there is not.
ModelConfig read_model_config(const std::filesystem::path& directory, std::string_view family = {});

// What the files beside config.json say.
struct ConfigHints {
  const Json* generation = nullptr;  // generation_config.json; may be null
  std::string_view family;           // empty: as config.json says
  // The id of a special token of the tokenizer by its text; with no text, of its mask token. May be empty.
  std::function<std::optional<Index>(std::string_view text)> special_token;
};

// The same from parsed JSON. `place` starts every message.
ModelConfig parse_model_config(const Json& config, const ConfigHints& hints, const std::string& place);

}  // namespace buoy
