#include "buoy/model/family.h"

#include <algorithm>
#include <iterator>

namespace buoy {
namespace {

constexpr ConfigKeys kHuggingFaceKeys{
    .width = "hidden_size",
    .layers = "num_hidden_layers",
    .heads = "num_attention_heads",
    .key_heads = "num_key_value_heads",
    .mlp = "intermediate_size",
    .context = "max_position_embeddings",
    .tied = "tie_word_embeddings",
};

constexpr WeightNames kHuggingFaceWeights{
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

constexpr WeightNames kLladaWeights{
    .embedding = "model.transformer.wte.weight",
    .attention_norm = "model.transformer.blocks.{}.attn_norm.weight",
    .q = "model.transformer.blocks.{}.q_proj.weight",
    .k = "model.transformer.blocks.{}.k_proj.weight",
    .v = "model.transformer.blocks.{}.v_proj.weight",
    .o = "model.transformer.blocks.{}.attn_out.weight",
    .mlp_norm = "model.transformer.blocks.{}.ff_norm.weight",
    .gate = "model.transformer.blocks.{}.ff_proj.weight",
    .up = "model.transformer.blocks.{}.up_proj.weight",
    .down = "model.transformer.blocks.{}.ff_out.weight",
    .final_norm = "model.transformer.ln_f.weight",
    .head = "model.transformer.ff_out.weight",
};

constexpr LayerShape kLlamaLayer{.norm = NormKind::kRms,
                                 .mixer = MixerKind::kAttention,
                                 .positions = PositionKind::kRotary,
                                 .feed_forward = FeedForwardKind::kSwiglu};

constexpr RequiredSetting kLladaRequired[] = {
    {"block_type", "\"llama\""},
    {"layer_norm_type", "\"rms\""},
    {"activation_type", "\"silu\""},
    {"rope", "true"},
    {"alibi", "false"},
    {"include_bias", "false"},
    {"attention_layer_norm", "false"},
    {"input_emb_norm", "false"},
    {"scale_logits", "false"},
    {"multi_query_attention", "false"},
    {"bias_for_layer_norm", "false"},
    {"layer_norm_with_affine", "true"},
    {"rope_full_precision", "true"},
    {"clip_qkv", "null"},
};
constexpr RequiredSetting kLlamaRequired[] = {
    {"hidden_act", "\"silu\""}, {"attention_bias", "false"}, {"mlp_bias", "false"}};
constexpr RequiredSetting kQwenRequired[] = {{"hidden_act", "\"silu\""}, {"use_sliding_window", "false"}};

const Family kFamilies[] = {
    {.name = "LLaDA",
     .model_type = "llada",
     .writing = Writing::kFillsMasks,
     .mask = Mask::kFull,
     .cache = Cache::kNone,
     .rows = PassRows::kAnew,
     .layer = kLlamaLayer,
     .sampler = SamplerKind::kLlada,
     .logit_shift = 0,
     .keys = {.width = "d_model",
              .layers = "n_layers",
              .heads = "n_heads",
              .key_heads = "n_kv_heads",
              .mlp = "mlp_hidden_size",
              .context = "max_sequence_length",
              .tied = "weight_tying"},
     .embedding_rows_key = "embedding_size",
     .qkv_bias_key = "include_qkv_bias",
     .qkv_bias = false,
     .rms_epsilon = 1e-5,
     .rope_theta = 10000.0,
     .end_of_turn = 126348,
     .weights = kLladaWeights,
     .required = kLladaRequired},
    {.name = "Dream",
     .model_type = "Dream",
     .writing = Writing::kFillsMasks,
     .mask = Mask::kFull,
     .cache = Cache::kNone,
     .rows = PassRows::kAnew,
     .layer = kLlamaLayer,
     .sampler = SamplerKind::kDream,
     .logit_shift = 1,
     .keys = kHuggingFaceKeys,
     .embedding_rows_key = "",
     .qkv_bias_key = "",
     .qkv_bias = true,
     .rms_epsilon = 1e-6,
     .rope_theta = 10000.0,
     .end_of_turn = std::nullopt,
     .weights = kHuggingFaceWeights,
     .required = kQwenRequired},
    {.name = "Llama",
     .model_type = "llama",
     .writing = Writing::kAppends,
     .mask = Mask::kCausal,
     .cache = Cache::kAppend,
     .rows = PassRows::kAddUp,
     .layer = kLlamaLayer,
     .sampler = SamplerKind::kAutoregressive,
     .logit_shift = 1,
     .keys = kHuggingFaceKeys,
     .embedding_rows_key = "",
     .qkv_bias_key = "",
     .qkv_bias = false,
     .rms_epsilon = 1e-6,
     .rope_theta = 10000.0,
     .end_of_turn = std::nullopt,
     .weights = kHuggingFaceWeights,
     .required = kLlamaRequired},
    {.name = "Qwen2",
     .model_type = "qwen2",
     .writing = Writing::kAppends,
     .mask = Mask::kCausal,
     .cache = Cache::kAppend,
     .rows = PassRows::kAddUp,
     .layer = kLlamaLayer,
     .sampler = SamplerKind::kAutoregressive,
     .logit_shift = 1,
     .keys = kHuggingFaceKeys,
     .embedding_rows_key = "",
     .qkv_bias_key = "",
     .qkv_bias = true,
     .rms_epsilon = 1e-6,
     .rope_theta = 10000.0,
     .end_of_turn = std::nullopt,
     .weights = kHuggingFaceWeights,
     .required = kQwenRequired},
};

}  // namespace

std::string_view name_of(Writing writing) {
  return writing == Writing::kFillsMasks ? "masked diffusion" : "autoregressive";
}

std::span<const Family> families() {
  return kFamilies;
}

const Family* find_family(std::string_view model_type) {
  const auto it = std::ranges::find(kFamilies, model_type, &Family::model_type);
  return it == std::end(kFamilies) ? nullptr : &*it;
}

}  // namespace buoy
