// The families whose layers have experts: their keys, names and settings.
#pragma once

#include "buoy/model/family_parts.h"

namespace buoy {

constexpr WeightNames with_experts(WeightNames names) {
  names.router = "model.layers.{}.mlp.gate.weight";
  names.expert_gate = "model.layers.{}.mlp.experts.{}.gate_proj.weight";
  names.expert_up = "model.layers.{}.mlp.experts.{}.up_proj.weight";
  names.expert_down = "model.layers.{}.mlp.experts.{}.down_proj.weight";
  return names;
}

// LLaDA-MoE: softmax, never divided by the sum, whatever norm_topk_prob says.
constexpr ConfigKeys llada_moe_keys() {
  ConfigKeys keys = with_attention_bias(kHuggingFaceKeys);
  keys.mlp = "dense_intermediate_size";
  keys.head_size = {};  // its code divides, whatever the file says
  keys.qk_norm = "qk_layernorm";
  keys.clip_qkv = "clip_qkv";
  return keys;
}

inline constexpr ExpertKeys kLladaMoeExperts{
    .router = RouterKind::kSoftmax,
    .count = "num_experts",
    .active = "num_experts_per_tok",
    .mlp = "expert_intermediate_size",
    .shared_mlp = "shared_expert_intermediate_size",
    .bias = "moe_router_enable_expert_bias",
    .layers = "moe_layer_freq",
};

// The shared expert stands beside the MLP, not in it.
constexpr WeightNames llada_moe_weights() {
  WeightNames names = with_experts(with_head_norms(kHuggingFaceWeights));
  names.router_bias = "model.layers.{}.mlp.expert_bias";
  names.shared_gate = "model.layers.{}.shared_expert.gate_proj.weight";
  names.shared_up = "model.layers.{}.shared_expert.up_proj.weight";
  names.shared_down = "model.layers.{}.shared_expert.down_proj.weight";
  return names;
}

inline constexpr RequiredSetting kLladaMoeRequired[] = {
    {"hidden_act", "\"silu\""}, {"partial_rotary_factor", "1"}, {"moe_router_score_function", "\"softmax\""}};

// LLaDA2: sigmoid with a bias and groups.
constexpr ConfigKeys llada2_keys() {
  ConfigKeys keys = kHuggingFaceKeys;
  keys.qkv_bias = "use_qkv_bias";
  keys.qk_norm = "use_qk_norm";
  keys.rotary_share = "partial_rotary_factor";
  return keys;
}

inline constexpr ExpertKeys kLlada2Experts{
    .router = RouterKind::kSigmoid,
    .count = "num_experts",
    .active = "num_experts_per_tok",
    .mlp = "moe_intermediate_size",
    .groups = "n_group",
    .kept_groups = "topk_group",
    .scale = "routed_scaling_factor",
    .shared_count = "num_shared_experts",
    .first = "first_k_dense_replace",
};

constexpr WeightNames llada2_weights() {
  WeightNames names = with_experts(kHuggingFaceWeights);
  names.embedding = "model.word_embeddings.weight";
  names.q = names.k = names.v = {};
  names.qkv = "model.layers.{}.attention.query_key_value.weight";
  names.q_norm = "model.layers.{}.attention.query_layernorm.weight";
  names.k_norm = "model.layers.{}.attention.key_layernorm.weight";
  names.o = "model.layers.{}.attention.dense.weight";
  names.router_bias = "model.layers.{}.mlp.gate.expert_bias";
  names.shared_gate = "model.layers.{}.mlp.shared_experts.gate_proj.weight";
  names.shared_up = "model.layers.{}.mlp.shared_experts.up_proj.weight";
  names.shared_down = "model.layers.{}.mlp.shared_experts.down_proj.weight";
  return names;
}

inline constexpr RequiredSetting kLlada2Required[] = {
    {"hidden_act", "\"silu\""}, {"use_sliding_window", "false"}, {"score_function", "\"sigmoid\""},
    {"norm_topk_prob", "true"}, {"use_bias", "false"},           {"norm_head", "false"}};
inline constexpr SilentSetting kLlada2Silent[] = {{"use_bias", "true"},
                                                  {"partial_rotary_factor", "0.5"},
                                                  {"n_group", "8"},
                                                  {"topk_group", "4"},
                                                  {"routed_scaling_factor", "2.5"}};

// Qwen3-MoE, and SDAR's models of its kind: softmax, divided by the sum where norm_topk_prob says so.
inline constexpr ExpertKeys kQwen3MoeExperts{
    .router = RouterKind::kSoftmax,
    .count = "num_experts",
    .active = "num_experts_per_tok",
    .mlp = "moe_intermediate_size",
    .every = "decoder_sparse_step",
    .dense = "mlp_only_layers",
    .normalize = "norm_topk_prob",
};

inline constexpr RequiredSetting kQwen3MoeRequired[] = {{"hidden_act", "\"silu\""},
                                                        {"use_sliding_window", "false"},
                                                        {"partial_rotary_factor", "1"},
                                                        {"shared_expert_intermediate_size", "0"},
                                                        {"clip_qkv", "null"}};

}  // namespace buoy
