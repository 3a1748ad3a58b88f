// What families are put together from: keys of config.json and names of weights that several share.
#pragma once

#include "buoy/model/family.h"

namespace buoy {

inline constexpr ConfigKeys kHuggingFaceKeys{
    .width = "hidden_size",
    .layers = "num_hidden_layers",
    .heads = "num_attention_heads",
    .key_heads = "num_key_value_heads",
    .mlp = "intermediate_size",
    .context = "max_position_embeddings",
    .tied = "tie_word_embeddings",
};

// Llama's and Qwen3's attention_bias is of all four projections.
constexpr ConfigKeys with_attention_bias(ConfigKeys keys) {
  keys.qkv_bias = keys.output_bias = "attention_bias";
  return keys;
}

constexpr ConfigKeys with_block(ConfigKeys keys, std::string_view block) {
  keys.block = block;
  return keys;
}

inline constexpr WeightNames kHuggingFaceWeights{
    .embedding = "model.embed_tokens.weight",
    .attention_norm = "model.layers.{}.input_layernorm.weight",
    .q = "model.layers.{}.self_attn.q_proj.weight",
    .k = "model.layers.{}.self_attn.k_proj.weight",
    .v = "model.layers.{}.self_attn.v_proj.weight",
    .o = "model.layers.{}.self_attn.o_proj.weight",
    .mlp_norm = "model.layers.{}.post_attention_layernorm.weight",
    .gate = "model.layers.{}.mlp.gate_proj.weight",
    .up = "model.layers.{}.mlp.up_proj.weight",
    .down = "model.layers.{}.mlp.down_proj.weight",
    .final_norm = "model.norm.weight",
    .head = "lm_head.weight",
};

constexpr WeightNames with_head_norms(WeightNames names) {
  names.q_norm = "model.layers.{}.self_attn.q_norm.weight";
  names.k_norm = "model.layers.{}.self_attn.k_norm.weight";
  return names;
}

}  // namespace buoy
