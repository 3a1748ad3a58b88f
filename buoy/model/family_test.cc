// Which family a checkpoint is, and which settings it may have: the goldens' own config files and spoiled
// ones.
#include "buoy/model/family.h"

#include <set>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/io/json.h"
#include "buoy/model/config.h"
#include "buoy/model/weights.h"

namespace buoy {
namespace {

const std::filesystem::path kGoldenModels = source_path("tests/goldens");

Json config_json(const std::string& model) {
  return read_json_file(kGoldenModels / model / "config.json");
}

// The message that a config ends in, or "(no error)".
std::string refusal(const Json& config, const ConfigHints& hints = {}) {
  try {
    parse_model_config(config, hints, "config.json");
  } catch (const Error& e) {
    return e.what();
  }
  return "(no error)";
}

// A golden's config with one setting changed.
std::string refusal(const std::string& model, const std::string& key, const Json& value) {
  Json config = config_json(model);
  config[key] = value;
  return refusal(config, {.special_token = [](std::string_view) { return std::optional<Index>(300); }});
}

TEST(Families, HaveKeysAndArchitecturesOfTheirOwn) {
  std::set<std::string_view> keys, architectures, types;
  for (const Family& family : families()) {
    EXPECT_TRUE(keys.insert(family.key).second) << family.key;
    EXPECT_EQ(find_family_key(family.key), &family);
    for (const std::string_view name : family.architectures)
      EXPECT_TRUE(architectures.insert(name).second) << name;
    EXPECT_TRUE(family.model_type.empty() || types.insert(family.model_type).second) << family.model_type;
    EXPECT_EQ(family.cache == Cache::kBlocks, family.block > 0) << family.key;
  }
}

TEST(Families, AreToldByTheirArchitecture) {
  struct Row {
    const char *model, *key;
    Mask mask;
  };
  const Row rows[] = {{"llada", "llada", Mask::kFull},
                      {"dream", "dream", Mask::kFull},
                      {"llama-gqa", "llama", Mask::kCausal},
                      {"qwen2-tied", "qwen2", Mask::kCausal},
                      {"qwen3", "qwen3", Mask::kCausal},
                      {"a2d-qwen3", "a2d-qwen3", Mask::kFull},
                      {"a2d-qwen2", "a2d-qwen2", Mask::kFull},
                      {"a2d-llama", "a2d-llama", Mask::kFull},
                      {"sdar", "sdar", Mask::blocks(4)},
                      {"stable-diffcoder", "stable-diffcoder", Mask::blocks(4)},  // whose type is "llama"
                      {"fast-dllm-v2", "fast-dllm-v2", Mask::blocks(8)},
                      {"llada-moe", "llada-moe", Mask::kFull},  // whose type is "llada"
                      {"llada2-moe", "llada2", Mask::blocks(32)},
                      {"qwen3-moe", "qwen3-moe", Mask::kCausal},
                      {"sdar-moe", "sdar-moe", Mask::blocks(4)},
                      {"ssd", "buoy-ssd-mdm", Mask::kFull},
                      {"open-dcoder", "qwen2", Mask::kCausal}};
  for (const Row& row : rows) {
    const ModelConfig config = read_model_config(kGoldenModels / row.model);
    EXPECT_EQ(config.family->key, row.key);
    EXPECT_EQ(config.mask, row.mask) << row.model;
    EXPECT_FALSE(config.told_family);
  }
}

TEST(Families, AnUnknownArchitectureIsRefusedByNameThoughItsTypeIsKnown) {
  const Json config = config_json("trap-llama-unknown");
  EXPECT_EQ(config["model_type"], "llama");
  const std::string error = refusal(config);
  EXPECT_NE(error.find("unknown architecture \"BlockwiseNovelForCausalLM\"; known: LLaDAModelLM"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("StableDiffcoderForCausalLM"), std::string::npos) << error;
}

TEST(Families, WithoutArchitecturesTheTypeCounts) {
  for (const Json& none : {Json(nullptr), Json::array()}) {
    Json config = config_json("llama-gqa");
    config["architectures"] = none;
    EXPECT_EQ(refusal(config), "(no error)");
    config["model_type"] = "mamba";
    EXPECT_NE(refusal(config).find("unknown model_type \"mamba\"; known: llada"), std::string::npos);
  }
}

TEST(Families, MayBeTold) {
  const ModelConfig config = read_model_config(kGoldenModels / "open-dcoder", "open-dcoder");
  EXPECT_EQ(config.family->name, "Open-dCoder");
  EXPECT_TRUE(config.told_family);
  EXPECT_EQ(config.mask, Mask::kFull);
  EXPECT_EQ(config.mask_id, 306);  // the tokenizer's mask_token
  const ModelConfig blocks = read_model_config(kGoldenModels / "a2d-qwen3", "a2d-qwen3-bd3lm");
  EXPECT_EQ(blocks.mask, Mask::blocks(32));
  EXPECT_THROW(read_model_config(kGoldenModels / "llada", "llama4"), UsageError);
}

TEST(Families, FindTheirMaskTokenWhereTheirOwnCodeDoes) {
  const std::pair<const char*, TokenId> rows[] = {{"llada2-moe", 300},   {"llada-moe", 301},
                                                  {"fast-dllm-v2", 305}, {"stable-diffcoder", 5},
                                                  {"sdar", 305},         {"a2d-llama", 300}};
  for (const auto& [model, id] : rows)
    EXPECT_EQ(read_model_config(kGoldenModels / model).mask_id, id) << model;
  EXPECT_NE(refusal(config_json("a2d-qwen3")).find("the tokenizer's files do not name a mask_token"),
            std::string::npos);
  EXPECT_NE(
      refusal(config_json("llada2-moe")).find("the mask token's id is 156895, outside the vocabulary of 302"),
      std::string::npos);
  EXPECT_NE(refusal("sdar", "mask_token_id", 310).find("outside the vocabulary"), std::string::npos);
}

TEST(Settings, ThatChangeTheArithmeticAreRefusedByName) {
  struct Row {
    const char *model, *key;
    Json value;
  };
  const Row rows[] = {{"qwen3", "hidden_act", "gelu"},
                      {"qwen3", "use_sliding_window", true},
                      {"qwen3", "partial_rotary_factor", 0.5},
                      {"qwen3", "layer_types", Json::array({"full_attention", "sliding_attention"})},
                      {"llama-gqa", "mlp_bias", true},
                      {"llama-gqa", "sliding_window", 4096},
                      {"llama-gqa", "quantization_config", {{"bits", 4}}},
                      {"llama-gqa", "num_experts", 8},
                      {"llama-gqa", "residual_multiplier", 0.22},
                      {"llama-gqa", "final_logit_softcapping", 30.0},
                      {"llada2-moe", "score_function", "softmax"},
                      {"llada2-moe", "use_bias", true},
                      {"llada2-moe", "norm_topk_prob", false},
                      {"llada-moe", "moe_router_score_function", "sigmoid"},
                      {"qwen3-moe", "use_sliding_window", true},
                      {"llama-gqa", "quantization", {{"bits", 4}, {"group_size", 64}}},
                      {"qwen2-tied", "is_causal", false},
                      {"sdar-moe", "shared_expert_intermediate_size", 64}};
  for (const Row& row : rows) {
    const std::string error = refusal(row.model, row.key, row.value);
    EXPECT_NE(error.find(fmt::format("\"{}\" ", row.key)), std::string::npos) << error;
    EXPECT_NE(error.find("is supported"), std::string::npos) << error;
  }
  EXPECT_EQ(refusal("llama-gqa", "residual_multiplier", 1.0), "(no error)");
  EXPECT_EQ(refusal("a2d-llama", "is_causal", false), "(no error)") << "it never was";
  EXPECT_EQ(refusal("qwen3", "layer_types", Json::array({"full_attention"})), "(no error)");
}

// A golden's config without one setting.
ModelConfig without(const char* model, const char* key) {
  Json config = config_json(model);
  EXPECT_EQ(config.erase(key), 1U) << key;
  return parse_model_config(
      config, {.special_token = [](std::string_view) { return std::optional<Index>(200); }}, "config.json");
}

// Silence means what the families' own configuration classes take for it, be that refused.
TEST(Settings, ThatAreNotThereAreWhatThePublicCodeTakesForThem) {
  for (const char* key : {"block_type", "layer_norm_type", "activation_type", "rope"}) {
    Json config = config_json("llada");
    config.erase(key);
    EXPECT_NE(refusal(config).find(fmt::format("\"{}\" is missing, which its code takes for", key)),
              std::string::npos)
        << refusal(config);
  }
  EXPECT_TRUE(without("llada", "weight_tying").tied);
  EXPECT_EQ(without("qwen3", "head_dim").D, 128);
  EXPECT_EQ(without("sdar", "head_dim").D, 128);
  EXPECT_FALSE(without("llada-moe", "qk_layernorm").qk_norm);
  EXPECT_EQ(without("llada2-moe", "rms_norm_eps").rms_epsilon, 1e-5f);
  EXPECT_EQ(without("llada2-moe", "routed_scaling_factor").experts->rule.scale, 2.5f);
  const ModelConfig half = without("llada2-moe", "partial_rotary_factor");
  EXPECT_EQ(half.rotated(), half.D / 2);
  EXPECT_EQ(without("llada2-moe", "n_group").experts->rule.groups, 8);
  EXPECT_THROW(without("llada2-moe", "use_bias"), Error);
  EXPECT_FALSE(without("qwen3-moe", "norm_topk_prob").experts->rule.normalize);
  EXPECT_TRUE(read_model_config(kGoldenModels / "qwen3-moe").experts->rule.normalize);
}

TEST(Settings, OfQwen3sExpertsSayWhichLayersHaveThem) {
  const ModelConfig config = read_model_config(kGoldenModels / "qwen3-moe");
  EXPECT_EQ(config.experts->layers, (std::vector<bool>{false, true, true})) << "mlp_only_layers holds 0";
  Json every = config_json("qwen3-moe");
  every["mlp_only_layers"] = Json::array();
  every["decoder_sparse_step"] = 2;
  EXPECT_EQ(parse_model_config(every, {}, "c").experts->layers, (std::vector<bool>{false, true, false}));
  EXPECT_NE(refusal("qwen3-moe", "mlp_only_layers", Json::array({3}))
                .find("\"mlp_only_layers\" holds 3, expected layers below 3"),
            std::string::npos);
  EXPECT_NE(
      refusal("qwen3-moe", "decoder_sparse_step", 0).find("\"decoder_sparse_step\" is 0, expected 1 to"),
      std::string::npos);
  EXPECT_NE(refusal("llada2-moe", "num_shared_experts", Index{1} << 40)
                .find("\"num_shared_experts\" is 1099511627776, expected 0 to"),
            std::string::npos);
}

TEST(Settings, OfRotationAreReadInBothSpellings) {
  Json config = config_json("qwen3");
  const double theta = parse_model_config(config, {}, "c").rope_theta;
  EXPECT_EQ(theta, 1e6);
  config.erase("rope_theta");
  config.erase("rope_scaling");
  config["rope_parameters"] = {{"rope_theta", 1e6}, {"rope_type", "default"}};
  config["dtype"] = "bfloat16";
  EXPECT_EQ(parse_model_config(config, {}, "c").rope_theta, theta);
  config["rope_parameters"] = {{"full_attention", {{"rope_theta", 1e6}}}};
  EXPECT_NE(refusal(config).find("\"full_attention\""), std::string::npos);
  config["rope_parameters"] = {{"rope_theta", 1e6}, {"rope_type", "yarn"}};
  EXPECT_NE(refusal(config).find("\"rope_type\" is \"yarn\"; known: default, llama3"), std::string::npos);
  EXPECT_EQ(read_model_config(kGoldenModels / "llada2-moe").rotated(), 10);
  EXPECT_NE(refusal("llada2-moe", "partial_rotary_factor", 0.45).find("expected an even number"),
            std::string::npos);
}

TEST(Settings, ThatOverflowAreRefusedByName) {
  struct Row {
    const char *model, *key;
    Json value;
  };
  // 20 · 2^62 is 0 in 64 bits: an expert that is shared would be none.
  const Row rows[] = {{"llada2-moe", "num_shared_experts", Index{1} << 62},
                      {"llada2-moe", "num_shared_experts", -1},
                      {"llada2-moe", "routed_scaling_factor", 1e308},
                      {"llada2-moe", "routed_scaling_factor", 0},
                      {"llada2-moe", "partial_rotary_factor", 1e308},
                      {"qwen3", "rope_theta", 1e-300},
                      {"qwen3", "rope_theta", 1e308}};
  for (const Row& row : rows) {
    const std::string error = refusal(row.model, row.key, row.value);
    EXPECT_NE(error.find(fmt::format("\"{}\" is ", row.key)), std::string::npos) << row.key << ": " << error;
  }
}

TEST(Settings, OfBlocksAndExpertsMustBePossible) {
  const auto says = [](const char* model, const char* key, const Json& value, const char* what) {
    const std::string error = refusal(model, key, value);
    EXPECT_NE(error.find(what), std::string::npos) << error;
  };
  says("sdar", "block_size", 0, "\"block_size\" is 0, expected 1 to the context of 512");
  says("fast-dllm-v2", "bd_size", 513, "\"bd_size\" is 513, expected 1 to the context of 512");
  says("llada2-moe", "num_experts_per_tok", 17, "more than the 16 experts");
  says("llada2-moe", "num_experts", 1 << 20,
       "\"num_experts\" is 1048576, expected at most 43690 in 3 layers");
  says("llada2-moe", "n_group", 3, "16 experts in 3 groups");
  says("llada2-moe", "topk_group", 5, "16 experts in 4 groups, of which 5 are kept");
  says("llada2-moe", "first_k_dense_replace", 4, "\"first_k_dense_replace\" is 4, expected 0 to 3");
  says("llada-moe", "moe_layer_freq", Json::array({1, 0}), "expected a list of 3 numbers");
  says("llada-moe", "moe_layer_freq", Json::array({1, 2, 0}), "holds 2 for layer 1, expected 0 or 1");
  says("llada-moe", "clip_qkv", -1.0, "\"clip_qkv\" is -1, expected above 0");
}

TEST(Settings, OfExpertsSayWhichTensorsThereAre) {
  const ModelConfig config = read_model_config(kGoldenModels / "llada2-moe");
  ASSERT_TRUE(config.experts);
  EXPECT_EQ(config.experts->layers, (std::vector<bool>{false, true, true}));
  EXPECT_EQ(config.layer(0).feed_forward, FeedForwardKind::kSwiglu);
  EXPECT_EQ(config.layer(1).feed_forward, FeedForwardKind::kExperts);
  const WeightReport report = inspect_weights(config, Checkpoint::open(kGoldenModels / "llada2-moe"));
  EXPECT_TRUE(report.problems.empty()) << report.problems.front();
  EXPECT_TRUE(report.unused.empty()) << report.unused.front();
  Json more = config_json("llada2-moe");
  more["num_experts"] = 20;
  const ModelConfig wider = parse_model_config(
      more, {.special_token = [](std::string_view) { return std::optional<Index>(300); }}, "c");
  const WeightReport lacking = inspect_weights(wider, Checkpoint::open(kGoldenModels / "llada2-moe"));
  EXPECT_EQ(lacking.problems.size(),
            2u * (2 + 4 * 3));  // router, its bias, four experts of three, two layers
  EXPECT_EQ(lacking.problems[2], "\"model.layers.1.mlp.experts.16.gate_proj.weight\" is missing");
}

}  // namespace
}  // namespace buoy
