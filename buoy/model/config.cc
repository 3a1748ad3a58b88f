#include "buoy/model/config.h"

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/model/config_experts.h"
#include "buoy/model/config_size.h"
#include "buoy/model/config_ssd.h"

namespace buoy {
namespace {

// A name of config.json, or none.
std::string first_architecture(const JsonObject& config) {
  const Json* found = config.find("architectures");
  if (found == nullptr || (found->is_array() && found->empty())) return {};
  if (!found->is_array() || !found->front().is_string()) {
    fail("{}: \"architectures\" is {}, expected a list of names", config.place(), found->dump());
  }
  return found->front().get<std::string>();
}

// What a model calls itself is not always what it is: a file that says "llama" may hold a model of blocks. So
// its architecture counts, and model_type only where it names none.
const Family& read_family(const JsonObject& config, std::string_view told) {
  if (!told.empty()) {
    if (const Family* family = find_family_key(told)) return *family;
    fail_usage("family is \"{}\", expected one of {}", told, fmt::join(family_keys(), ", "));
  }
  std::vector<std::string_view> known;
  if (const std::string architecture = first_architecture(config); !architecture.empty()) {
    if (const Family* family = find_architecture(architecture)) return *family;
    for (const Family& family : families())
      known.insert(known.end(), family.architectures.begin(), family.architectures.end());
    fail("{}: unknown architecture {}; known: {} (and see --family)", config.place(), quote(architecture),
         fmt::join(known, ", "));
  }
  const std::string model_type = config.string("model_type");
  if (const Family* family = find_family(model_type)) return *family;
  for (const Family& family : families()) {
    if (!family.model_type.empty()) known.push_back(family.model_type);
  }
  fail("{}: unknown model_type {}; known: {} (and see --family)", config.place(), quote(model_type),
       fmt::join(known, ", "));
}

// What would change the arithmetic of any family.
constexpr RequiredSetting kRequiredOfAll[] = {
    {"quantization_config", "null"},     {"quantization", "null"},
    {"compression_config", "null"},      {"attn_logit_softcapping", "null"},
    {"final_logit_softcapping", "null"}, {"embedding_multiplier", "1"},
    {"residual_multiplier", "1"},        {"logits_scaling", "1"},
    {"attention_multiplier", "null"},    {"query_pre_attn_scalar", "null"},
};

void check_required(const JsonObject& config, std::span<const RequiredSetting> required) {
  for (const RequiredSetting& setting : required) {
    const Json* found = config.find(setting.key);
    if (found != nullptr && *found != Json::parse(setting.value)) {
      fail("{}: \"{}\" is {}, only {} is supported", config.place(), setting.key, found->dump(),
           setting.value);
    }
  }
}

// The settings with those that the family's code adds where the file is silent. What cannot be honoured is
// refused as if the file said it.
Json with_silent(const Json& json, const Family& family, const std::string& place) {
  Json filled = json;
  for (const SilentSetting& silent : family.silent) {
    if (json.contains(silent.key)) continue;
    filled[std::string(silent.key)] = Json::parse(silent.value);
    for (const RequiredSetting& setting : family.required) {
      if (setting.key != silent.key) continue;
      fail("{}: \"{}\" is missing, which its code takes for {}; only {} is supported", place, silent.key,
           silent.value, setting.value);
    }
  }
  return filled;
}

// Since transformers 5 a decoder that a file calls not causal sees both ways.
constexpr RequiredSetting kCausalRequired[] = {{"is_causal", "true"}};

// Of families whose layers all have attention.
void check_layer_types(const JsonObject& config) {
  const Json* kinds = config.find("layer_types");
  if (kinds == nullptr) return;
  if (!kinds->is_array()) fail("{}: \"layer_types\" is {}, expected a list", config.place(), kind_of(*kinds));
  for (const Json& kind : *kinds) {
    if (kind != "full_attention") {
      fail("{}: \"layer_types\" holds {}, only \"full_attention\" is supported", config.place(), kind.dump());
    }
  }
}

constexpr RequiredSetting kRopeRequired[] = {
    {"full_attention", "null"}, {"sliding_attention", "null"}, {"llama_4_scaling_beta", "null"}};

// How much of each head is rotated, in families where that is not all of it.
void read_rotary_share(const JsonObject& config, ModelConfig& model) {
  constexpr RequiredSetting kWhole[] = {{"partial_rotary_factor", "1"}};
  const std::string_view key = model.family->keys.rotary_share;
  if (key.empty()) return check_required(config, kWhole);
  if (!config.has(key)) return;
  const double share = config.number(key);
  if (share > 0 && share <= 1) model.rotary = static_cast<Index>(static_cast<double>(model.D) * share);
  if (!(share > 0 && share <= 1) || model.rotary < 2 || model.rotary > model.D || model.rotary % 2 != 0) {
    fail("{}: \"{}\" is {}, expected an even number of a head's {} dimensions", config.place(), key, share,
         model.D);
  }
}

// theta and scaling stand in the config itself or, since transformers 5, in "rope_parameters".
void read_rope(const JsonObject& config, ModelConfig& model) {
  model.rope_theta = config.number_or("rope_theta", model.family->rope_theta);
  read_rotary_share(config, model);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* found = config.find(key);
    if (found == nullptr) continue;
    const JsonObject rope(*found, fmt::format("{}: {}", config.place(), key));
    check_required(rope, kRopeRequired);
    model.rope_theta = rope.number_or("rope_theta", model.rope_theta);
    read_rotary_share(rope, model);
    const std::string type = rope.string_or("rope_type", rope.string_or("type", "default"));
    if (type == "default") continue;
    if (type != "llama3") fail("{}: \"rope_type\" is \"{}\"; known: default, llama3", rope.place(), type);
    model.rope_scaling = RopeScaling{.factor = rope.number("factor"),
                                     .low_freq_factor = rope.number("low_freq_factor"),
                                     .high_freq_factor = rope.number("high_freq_factor"),
                                     .original_context = rope.integer("original_max_position_embeddings")};
    const RopeScaling& s = *model.rope_scaling;
    constexpr double kMostFactor = 1e6;
    if (!(s.factor > 0 && s.factor <= kMostFactor && s.low_freq_factor > 0 &&
          s.high_freq_factor > s.low_freq_factor && s.high_freq_factor <= kMostFactor &&
          s.original_context > 0 && s.original_context <= kLargestSize)) {
      fail("{}: factors must be positive, at most {}, and high_freq_factor above low_freq_factor",
           rope.place(), kMostFactor);
    }
  }
  // Below 1 frequencies grow without end, far above they are 0 in float32.
  constexpr double kMostTheta = 1e37;
  if (!(model.rope_theta >= 1 && model.rope_theta <= kMostTheta)) {
    fail("{}: \"rope_theta\" is {}, expected 1 to {}", config.place(), model.rope_theta, kMostTheta);
  }
}

std::optional<TokenId> read_token(const JsonObject& config, std::string_view key, Index V) {
  if (!config.has(key)) return std::nullopt;
  const Index id = config.integer(key);
  if (id < 0 || id >= V) fail("{}: \"{}\" is {}, outside the vocabulary of {}", config.place(), key, id, V);
  return static_cast<TokenId>(id);
}

// One id or a list of them.
void add_eos_ids(const JsonObject& config, Index V, std::vector<TokenId>& ids) {
  const Json* found = config.find("eos_token_id");
  if (found == nullptr) return;
  for (const Json& id : found->is_array() ? *found : Json::array({*found})) {
    if (!id.is_number_integer() || id.get<Index>() < 0 || id.get<Index>() >= V) {
      fail("{}: \"eos_token_id\" holds {}, expected ids below {}", config.place(), id.dump(), V);
    }
    ids.push_back(id.get<TokenId>());
  }
}

// The mask_token_id of config.json or generation_config.json, else the tokenizer's, else the one that the
// family's code has.
void read_mask_id(const JsonObject& config, const ConfigHints& hints, ModelConfig& model) {
  const Family& family = *model.family;
  model.mask_id = read_token(config, "mask_token_id", model.V);
  if (family.writing != Writing::kFillsMasks || model.mask_id) return;
  if (hints.generation != nullptr) {
    model.mask_id = read_token(JsonObject(*hints.generation, config.place() + ": generation_config"),
                               "mask_token_id", model.V);
    if (model.mask_id) return;
  }
  std::optional<Index> id = hints.special_token ? hints.special_token(family.mask_token) : std::nullopt;
  if (!id && family.mask_id) id = *family.mask_id;
  const std::string token = family.mask_token.empty() ? "a mask_token" : quote(family.mask_token);
  if (!id) {
    fail("{}: \"mask_token_id\" is missing, and the tokenizer's files do not name {}", config.place(), token);
  }
  if (*id < 0 || *id >= model.V) {
    fail("{}: the mask token's id is {}, outside the vocabulary of {}", config.place(), *id, model.V);
  }
  model.mask_id = static_cast<TokenId>(*id);
}

void read_block(const JsonObject& config, ModelConfig& model) {
  const Family& family = *model.family;
  model.mask = family.mask;
  if (family.block == 0) return;
  model.block = family.keys.block.empty() ? family.block : config.integer_or(family.keys.block, family.block);
  if (model.block < 1 || model.block > model.context) {
    fail("{}: \"{}\" is {}, expected 1 to the context of {}", config.place(),
         family.keys.block.empty() ? "block" : family.keys.block, model.block, model.context);
  }
  model.mask = Mask::blocks(model.block);
}

void read_sizes(const JsonObject& config, ModelConfig& model) {
  const ConfigKeys& keys = model.family->keys;
  model.E = read_size(config, keys.width);
  model.L = read_size(config, keys.layers);
  model.H = read_size(config, keys.heads);
  model.Hkv = read_size(config, keys.key_heads, model.H);
  model.context = read_size(config, keys.context);
  model.V = read_size(config, "vocab_size");
  if (model.family->experts != nullptr) model.experts = read_experts(config, *model.family->experts, model.L);
  const bool all_experts = model.experts && std::ranges::count(model.experts->layers, false) == 0;
  if (!all_experts) model.F = read_size(config, keys.mlp);
  if (!keys.embedding_rows.empty()) {
    const Index rows = read_size(config, keys.embedding_rows, model.V);
    if (rows < model.V) {
      fail("{}: \"{}\" is {}, less than \"vocab_size\" {}", config.place(), keys.embedding_rows, rows,
           model.V);
    }
    model.V = rows;
  }
  if (model.H % model.Hkv != 0) {
    fail("{}: {} heads do not divide by {} key heads", config.place(), model.H, model.Hkv);
  }
  const bool own_head_size = !keys.head_size.empty() && config.has(keys.head_size);
  if (!own_head_size && model.E % model.H != 0) {
    fail("{}: width {} does not divide by {} heads", config.place(), model.E, model.H);
  }
  model.D = own_head_size ? read_size(config, keys.head_size) : model.E / model.H;
  if (model.D % 2 != 0) fail("{}: head size is {}, expected an even number", config.place(), model.D);
}

void read_switches(const JsonObject& config, ModelConfig& model) {
  const Family& family = *model.family;
  const auto flag = [&](std::string_view key, bool fallback) {
    return key.empty() ? fallback : config.boolean_or(key, fallback);
  };
  model.rms_epsilon = static_cast<float>(config.number_or("rms_norm_eps", family.rms_epsilon));
  if (!(model.rms_epsilon > 0 && model.rms_epsilon < 1)) {
    fail("{}: \"rms_norm_eps\" is {}, expected above 0, below 1", config.place(), model.rms_epsilon);
  }
  model.tied = config.boolean_or(family.keys.tied, false);
  model.qkv_bias = flag(family.keys.qkv_bias, family.qkv_bias);
  model.output_bias = flag(family.keys.output_bias, false);
  model.qk_norm = flag(family.keys.qk_norm, family.qk_norm);
  if (!family.keys.clip_qkv.empty() && config.has(family.keys.clip_qkv)) {
    model.clip_qkv = static_cast<float>(config.number(family.keys.clip_qkv));
    if (!(model.clip_qkv > 0)) {
      fail("{}: \"{}\" is {}, expected above 0", config.place(), family.keys.clip_qkv, model.clip_qkv);
    }
  }
}

// Which token a tokenizer_config.json calls its mask token; empty: none.
std::string declared_mask_token(const JsonObject& config) {
  const Json* named = config.find("mask_token");
  if (named == nullptr) return {};
  if (!named->is_object()) return config.string("mask_token");
  return JsonObject(*named, config.place() + ": mask_token").string("content");
}

bool has_content(const Json& token, const std::string& text) {
  const auto found = token.is_object() ? token.find("content") : token.end();
  return token.is_object() && found != token.end() && *found == text;
}

// The id of a special token as the tokenizer's files name it; with no text, of the mask token they declare.
std::optional<Index> find_special_token(const std::filesystem::path& directory, std::string text) {
  const std::filesystem::path path = directory / "tokenizer_config.json";
  if (std::filesystem::exists(path)) {
    const Json json = read_json_file(path);
    const JsonObject config(json, path.string());
    if (text.empty()) text = declared_mask_token(config);
    const Json* added = config.find("added_tokens_decoder");
    if (added != nullptr && added->is_object()) {
      for (const auto& [id, token] : added->items()) {
        if (!has_content(token, text)) continue;
        Index number = 0;
        const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
        if (error == std::errc{} && end == id.data() + id.size()) return number;
        fail("{}: \"added_tokens_decoder\" has the id {}, expected a number", path.string(), quote(id));
      }
    }
  }
  const std::filesystem::path tokenizer = directory / "tokenizer.json";
  if (text.empty() || !std::filesystem::exists(tokenizer)) return std::nullopt;
  const Json json = read_json_file(tokenizer);
  const Json* added = JsonObject(json, tokenizer.string()).find("added_tokens");
  if (added == nullptr || !added->is_array()) return std::nullopt;
  for (const Json& token : *added) {
    if (has_content(token, text))
      return JsonObject(token, tokenizer.string() + ": added_tokens").integer("id");
  }
  return std::nullopt;
}

}  // namespace

ModelConfig parse_model_config(const Json& json, const ConfigHints& hints, const std::string& place) {
  ModelConfig model;
  const Family& family = *(model.family = &read_family(JsonObject(json, place), hints.family));
  const Json filled = with_silent(json, family, place);
  const JsonObject config(filled, place);
  model.told_family = !hints.family.empty();
  check_required(config, kRequiredOfAll);
  check_required(config, family.required);
  if (family.writing == Writing::kAppends) check_required(config, kCausalRequired);
  if (family.ssd == nullptr) check_layer_types(config);
  read_sizes(config, model);
  if (family.ssd != nullptr) model.ssd = read_ssd(config, *family.ssd, model);
  read_switches(config, model);
  read_rope(config, model);
  read_block(config, model);
  read_mask_id(config, hints, model);
  if (family.end_of_turn && *family.end_of_turn < model.V) model.end_of_turn = family.end_of_turn;
  add_eos_ids(config, model.V, model.eos_ids);
  if (hints.generation != nullptr) {
    add_eos_ids(JsonObject(*hints.generation, place + ": generation_config"), model.V, model.eos_ids);
  }
  std::ranges::sort(model.eos_ids);
  model.eos_ids.erase(std::unique(model.eos_ids.begin(), model.eos_ids.end()), model.eos_ids.end());
  return model;
}

ModelConfig read_model_config(const std::filesystem::path& directory, std::string_view family) {
  if (!std::filesystem::is_directory(directory)) fail("{}: no such model directory", directory.string());
  const std::filesystem::path path = directory / "config.json";
  const Json config = read_json_file(path);
  Json generation;
  const std::filesystem::path generation_path = directory / "generation_config.json";
  if (std::filesystem::exists(generation_path)) generation = read_json_file(generation_path);
  const ConfigHints hints{.generation = generation.is_null() ? nullptr : &generation,
                          .family = family,
                          .special_token = [&](std::string_view text) {
                            return find_special_token(directory, std::string(text));
                          }};
  return parse_model_config(config, hints, path.string());
}

}  // namespace buoy
