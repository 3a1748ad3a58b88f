#include "buoy/model/family.h"

#include <algorithm>
#include <iterator>

#include "buoy/model/family_experts.h"
#include "buoy/model/family_ssd.h"

namespace buoy {
namespace {

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
    {"num_experts", "null"},
};
constexpr RequiredSetting kLlamaRequired[] = {{"hidden_act", "\"silu\""},     {"mlp_bias", "false"},
                                              {"partial_rotary_factor", "1"}, {"num_experts", "null"},
                                              {"sliding_window", "null"},     {"clip_qkv", "null"}};
constexpr RequiredSetting kQwenRequired[] = {{"hidden_act", "\"silu\""},
                                             {"use_sliding_window", "false"},
                                             {"partial_rotary_factor", "1"},
                                             {"num_experts", "null"},
                                             {"clip_qkv", "null"}};

// What LLaDA's code takes where a file is silent, as no public file is: another kind of layer.
constexpr SilentSetting kLladaSilent[] = {{"block_type", "\"sequential\""},
                                          {"layer_norm_type", "\"default\""},
                                          {"activation_type", "\"swiglu\""},
                                          {"rope", "false"},
                                          {"weight_tying", "true"}};
constexpr SilentSetting kQwen3Silent[] = {{"head_dim", "128"}};

constexpr std::string_view kLladaNames[] = {"LLaDAModelLM"}, kLladaMoeNames[] = {"LLaDAMoEModelLM"},
                           kDreamNames[] = {"DreamModel"}, kLlamaNames[] = {"LlamaForCausalLM"},
                           kQwen2Names[] = {"Qwen2ForCausalLM"}, kQwen3Names[] = {"Qwen3ForCausalLM"},
                           kA2dQwen3Names[] = {"A2DQwen3LMHeadModel"},
                           kA2dQwen2Names[] = {"A2DQwen2LMHeadModel"},
                           kA2dLlamaNames[] = {"A2DLlamaLMHeadModel"}, kSdarNames[] = {"SDARForCausalLM"},
                           kQwen3MoeNames[] = {"Qwen3MoeForCausalLM"},
                           kSdarMoeNames[] = {"SDARMoeForCausalLM"}, kLlada2Names[] = {"LLaDA2MoeModelLM"},
                           kFastDllmNames[] = {"Fast_dLLM_QwenForCausalLM"},
                           kStableDiffcoderNames[] = {"StableDiffcoderForCausalLM"};

// The backbones, as autoregressive models; the diffusion families below are these under other masks.
constexpr Family kLlama{.name = "Llama",
                        .key = "llama",
                        .architectures = kLlamaNames,
                        .model_type = "llama",
                        .writing = Writing::kAppends,
                        .mask = Mask::kCausal,
                        .cache = Cache::kAppend,
                        .rows = PassRows::kAddUp,
                        .layer = kLlamaLayer,
                        .sampler = SamplerKind::kAutoregressive,
                        .logit_shift = 1,
                        .keys = with_attention_bias(kHuggingFaceKeys),
                        .qkv_bias = false,
                        .rms_epsilon = 1e-6,
                        .rope_theta = 10000.0,
                        .weights = kHuggingFaceWeights,
                        .required = kLlamaRequired};

constexpr Family qwen2() {
  Family f = kLlama;
  f.name = "Qwen2";
  f.key = f.model_type = "qwen2";
  f.architectures = kQwen2Names;
  f.keys = kHuggingFaceKeys;
  f.qkv_bias = true;
  f.required = kQwenRequired;
  return f;
}

constexpr Family qwen3() {
  Family f = kLlama;
  f.name = "Qwen3";
  f.key = f.model_type = "qwen3";
  f.architectures = kQwen3Names;
  f.qk_norm = true;
  f.weights = with_head_norms(kHuggingFaceWeights);
  f.required = kQwenRequired;
  f.silent = kQwen3Silent;
  return f;
}

constexpr Family qwen3_moe() {
  Family f = qwen3();
  f.name = "Qwen3-MoE";
  f.key = "qwen3-moe";
  f.model_type = "qwen3_moe";
  f.architectures = kQwen3MoeNames;
  f.experts = &kQwen3MoeExperts;
  f.weights = with_experts(f.weights);
  f.required = kQwen3MoeRequired;
  f.silent = {};
  return f;
}

struct Spelling {
  std::string_view name, key, model_type;
  std::span<const std::string_view> architectures;
};

// A backbone whose rows all see each other.
constexpr Family masked(Family f, const Spelling& spelling, SamplerKind sampler, Index logit_shift) {
  f.name = spelling.name;
  f.key = spelling.key;
  f.model_type = spelling.model_type;
  f.architectures = spelling.architectures;
  f.writing = Writing::kFillsMasks;
  f.mask = Mask::kFull;
  f.cache = Cache::kNone;
  f.rows = PassRows::kAnew;
  f.sampler = sampler;
  f.logit_shift = logit_shift;
  return f;
}

// The same in blocks, each of which sees itself and those before it.
constexpr Family in_blocks(Family f, const Spelling& spelling, SamplerKind sampler, Index block) {
  f = masked(f, spelling, sampler, 0);
  f.cache = Cache::kBlocks;
  f.block = block;
  return f;
}

constexpr Family bd3lm(const Family& f, std::string_view name, std::string_view key) {
  Family made = in_blocks(f, {.name = name, .key = key}, SamplerKind::kBd3lm, 32);
  made.block_start = BlockStart::kAnswer;
  return made;
}

constexpr Family llada() {
  Family f = masked(kLlama, {"LLaDA", "llada", "llada", kLladaNames}, SamplerKind::kLlada, 0);
  f.keys = {.width = "d_model",
            .layers = "n_layers",
            .heads = "n_heads",
            .key_heads = "n_kv_heads",
            .mlp = "mlp_hidden_size",
            .context = "max_sequence_length",
            .tied = "weight_tying",
            .embedding_rows = "embedding_size",
            .qkv_bias = "include_qkv_bias"};
  f.rms_epsilon = 1e-5;
  f.end_of_turn = 126348;
  f.weights = kLladaWeights;
  f.required = kLladaRequired;
  f.silent = kLladaSilent;
  return f;
}

constexpr Family llada_moe() {
  Family f = masked(kLlama, {"LLaDA-MoE", "llada-moe", "lladamoe", kLladaMoeNames}, SamplerKind::kLlada, 0);
  f.keys = llada_moe_keys();
  f.experts = &kLladaMoeExperts;
  f.rms_epsilon = 1e-5;
  f.mask_token = "<|mask|>";
  f.mask_id = 156895;
  f.weights = llada_moe_weights();
  f.required = kLladaMoeRequired;
  return f;
}

constexpr Family sdar(const Family& backbone, const Spelling& spelling) {
  Family f = in_blocks(backbone, spelling, SamplerKind::kSdar, 4);
  f.keys = with_block(f.keys, "block_size");
  f.mask_id = 151669;
  return f;
}

constexpr Family llada2() {
  Family f = in_blocks(kLlama, {"LLaDA2", "llada2", "llada2_moe", kLlada2Names}, SamplerKind::kLlada2, 32);
  f.keys = llada2_keys();
  f.experts = &kLlada2Experts;
  f.qk_norm = true;
  f.rms_epsilon = 1e-5;
  f.mask_token = "<|mask|>";
  f.mask_id = 156895;
  f.weights = llada2_weights();
  f.required = kLlada2Required;
  f.silent = kLlada2Silent;
  return f;
}

constexpr Family fast_dllm() {
  Family f = in_blocks(qwen2(), {"Fast-dLLM v2", "fast-dllm-v2", "Fast_dLLM_Qwen", kFastDllmNames},
                       SamplerKind::kFastDllm, 32);
  f.keys = with_block(f.keys, "bd_size");
  f.logit_shift = 1;
  f.mask_token = "|<MASK>|";
  f.mask_id = 151665;
  return f;
}

constexpr Family stable_diffcoder() {
  Family f = in_blocks(kLlama, {"Stable-DiffCoder", "stable-diffcoder", "", kStableDiffcoderNames},
                       SamplerKind::kStableDiffcoder, 4);
  f.mask_id = 5;
  return f;
}

constexpr Family kFamilies[] = {
    llada(),
    masked(qwen2(), {"Dream", "dream", "Dream", kDreamNames}, SamplerKind::kDream, 1),
    kLlama,
    qwen2(),
    qwen3(),
    qwen3_moe(),
    masked(qwen3(), {"A2D-Qwen3", "a2d-qwen3", "a2d-qwen3", kA2dQwen3Names}, SamplerKind::kA2d, 0),
    masked(qwen2(), {"A2D-Qwen2", "a2d-qwen2", "a2d-qwen2", kA2dQwen2Names}, SamplerKind::kA2d, 0),
    masked(kLlama, {"A2D-Llama", "a2d-llama", "a2d-llama", kA2dLlamaNames}, SamplerKind::kA2d, 0),
    bd3lm(qwen3(), "A2D-Qwen3 (BD3LM)", "a2d-qwen3-bd3lm"),
    bd3lm(qwen2(), "A2D-Qwen2 (BD3LM)", "a2d-qwen2-bd3lm"),
    bd3lm(kLlama, "A2D-Llama (BD3LM)", "a2d-llama-bd3lm"),
    sdar(qwen3(), {"SDAR", "sdar", "sdar", kSdarNames}),
    sdar(qwen3_moe(), {"SDAR-MoE", "sdar-moe", "sdar_moe", kSdarMoeNames}),
    llada2(),
    llada_moe(),
    fast_dllm(),
    stable_diffcoder(),
    ssd_mdm(
        masked(kLlama, {"Buoy SSD", "buoy-ssd-mdm", "buoy_ssd_mdm", kSsdMdmNames}, SamplerKind::kLlada, 0)),
    masked(qwen2(), {.name = "Open-dCoder", .key = "open-dcoder"}, SamplerKind::kDream, 1),
};

}  // namespace

std::string_view name_of(Writing writing) {
  return writing == Writing::kFillsMasks ? "masked diffusion" : "autoregressive";
}

std::string_view name_of(MixerKind mixer) {
  return mixer == MixerKind::kAttention ? "attention" : "ssd";
}

std::string_view name_of(SamplerKind sampler) {
  constexpr std::string_view kNames[] = {"LLaDA",       "A2D (MDLM)", "Dream",  "autoregressive",
                                         "BD3LM",       "SDAR",       "LLaDA2", "Stable-DiffCoder",
                                         "Fast-dLLM v2"};
  return kNames[static_cast<std::size_t>(sampler)];
}

std::span<const Family> families() {
  return kFamilies;
}

const Family* find_family(std::string_view model_type) {
  if (model_type.empty()) return nullptr;
  const auto* it = std::ranges::find(kFamilies, model_type, &Family::model_type);
  return it == std::end(kFamilies) ? nullptr : it;
}

const Family* find_architecture(std::string_view architecture) {
  const auto* it = std::ranges::find_if(kFamilies, [&](const Family& f) {
    return std::ranges::find(f.architectures, architecture) != f.architectures.end();
  });
  return it == std::end(kFamilies) ? nullptr : it;
}

const Family* find_family_key(std::string_view key) {
  const auto* it = std::ranges::find(kFamilies, key, &Family::key);
  return it == std::end(kFamilies) ? nullptr : it;
}

std::vector<std::string> family_keys() {
  std::vector<std::string> keys;
  for (const Family& family : kFamilies) keys.emplace_back(family.key);
  return keys;
}

}  // namespace buoy
