// What distinguishes the model families, as data: key names, tensor names, switches.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "buoy/base/types.h"
#include "buoy/compute/mask.h"

namespace buoy {

// How text comes about: masks anywhere are filled, step by step, or tokens are appended to the end.
enum class Writing { kFillsMasks, kAppends };

// "masked diffusion", "autoregressive".
std::string_view name_of(Writing writing);

// What a pass leaves for the next: nothing, or the keys and values of all positions so far, to which the next
// pass adds its own.
enum class Cache { kNone, kAppend };

// How the rows of attention that are recorded relate from pass to pass: each pass computes all of them anew,
// or its rows stand and the next pass adds more.
enum class PassRows { kAnew, kAddUp };

// How tokens are chosen; each family has its own published sampler.
enum class SamplerKind { kLlada, kDream, kAutoregressive };

// What a layer is made of. Each kind is a part: its weights in weights.cc, its loading in transformer.cc, its
// work in compute/layer.h.
enum class NormKind { kRms };            // before the mixer, before the feed-forward and at the end
enum class MixerKind { kAttention };     // how rows of a sequence come to know each other
enum class PositionKind { kRotary };     // how the mixer knows where they stand
enum class FeedForwardKind { kSwiglu };  // what every row goes through by itself
struct LayerShape {
  NormKind norm;
  MixerKind mixer;
  PositionKind positions;
  FeedForwardKind feed_forward;
};

// A setting of config.json that this engine can only honour at one value. Absent means that value.
struct RequiredSetting {
  std::string_view key;
  std::string_view value;  // as JSON text
};

// Where config.json keeps each size.
struct ConfigKeys {
  std::string_view width, layers, heads, key_heads, mlp, context, tied;
};

// Names of the weights; "{}" stands for the layer number.
struct WeightNames {
  std::string_view embedding, attention_norm, q, k, v, o, mlp_norm, gate, up, down, final_norm, head;
};

struct Family {
  std::string_view name;
  std::string_view model_type;  // as config.json spells it
  Writing writing;
  Mask mask;
  Cache cache;
  PassRows rows;
  LayerShape layer;  // of every layer; ask ModelConfig::layer()
  SamplerKind sampler;
  Index logit_shift;  // row p − shift predicts position p; what is appended follows its row
  ConfigKeys keys;
  std::string_view embedding_rows_key;  // may exceed vocab_size; empty: vocab_size it is
  std::string_view qkv_bias_key;        // empty: always `qkv_bias`
  bool qkv_bias;
  double rms_epsilon, rope_theta;      // when config.json is silent, as the public code has it
  std::optional<TokenId> end_of_turn;  // beside EOS; used where the vocabulary reaches that far
  WeightNames weights;
  std::span<const RequiredSetting> required;
};

std::span<const Family> families();

// The family of a config.json's model_type; nullptr when unknown.
const Family* find_family(std::string_view model_type);

}  // namespace buoy
