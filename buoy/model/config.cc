#include "buoy/model/config.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

// Far beyond any model, far below anything that could overflow a product of two.
constexpr Index kLargestSize = Index{1} << 28;
// Tables are made for every layer and every position before there is a weight to compare them with.
constexpr Index kMostLayers = 4096, kLongestContext = Index{1} << 22;

Index largest(std::string_view key) {
  if (key == "n_layers" || key == "num_hidden_layers") return kMostLayers;
  if (key == "max_position_embeddings" || key == "max_sequence_length") return kLongestContext;
  return kLargestSize;
}

Index read_size(const JsonObject& config, std::string_view key,
                std::optional<Index> fallback = std::nullopt) {
  const Index size = fallback ? config.integer_or(key, *fallback) : config.integer(key);
  if (size < 1 || size > largest(key)) {
    fail("{}: \"{}\" is {}, expected 1 to {}", config.place(), key, size, largest(key));
  }
  return size;
}

const Family& read_family(const JsonObject& config) {
  const std::string model_type = config.string("model_type");
  if (const Family* family = find_family(model_type)) return *family;
  std::vector<std::string_view> known;
  for (const Family& family : families()) known.push_back(family.model_type);
  fail("{}: unknown model_type \"{}\"; known: {}", config.place(), model_type, fmt::join(known, ", "));
}

void check_required(const JsonObject& config, const Family& family) {
  for (const RequiredSetting& setting : family.required) {
    const Json* found = config.find(setting.key);
    if (found != nullptr && found->dump() != setting.value) {
      fail("{}: \"{}\" is {}, only {} is supported", config.place(), setting.key, found->dump(),
           setting.value);
    }
  }
}

// theta and scaling stand in the config itself or, since transformers 5, in "rope_parameters".
void read_rope(const JsonObject& config, ModelConfig& model) {
  model.rope_theta = config.number_or("rope_theta", model.family->rope_theta);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* found = config.find(key);
    if (found == nullptr) continue;
    const JsonObject rope(*found, fmt::format("{}: {}", config.place(), key));
    model.rope_theta = rope.number_or("rope_theta", model.rope_theta);
    const std::string type = rope.string_or("rope_type", rope.string_or("type", "default"));
    if (type == "default") continue;
    if (type != "llama3") fail("{}: \"rope_type\" is \"{}\"; known: default, llama3", rope.place(), type);
    model.rope_scaling = RopeScaling{.factor = rope.number("factor"),
                                     .low_freq_factor = rope.number("low_freq_factor"),
                                     .high_freq_factor = rope.number("high_freq_factor"),
                                     .original_context = rope.integer("original_max_position_embeddings")};
    const RopeScaling& s = *model.rope_scaling;
    if (!(s.factor > 0 && s.low_freq_factor > 0 && s.high_freq_factor > s.low_freq_factor &&
          s.original_context > 0)) {
      fail("{}: factors must be positive and high_freq_factor above low_freq_factor", rope.place());
    }
  }
  if (!(model.rope_theta > 0))
    fail("{}: \"rope_theta\" is {}, expected above 0", config.place(), model.rope_theta);
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

}  // namespace

ModelConfig parse_model_config(const Json& json, const Json* generation, const std::string& place) {
  const JsonObject config(json, place);
  ModelConfig model;
  const Family& family = *(model.family = &read_family(config));
  check_required(config, family);
  model.mask = family.mask;
  model.E = read_size(config, family.keys.width);
  model.L = read_size(config, family.keys.layers);
  model.H = read_size(config, family.keys.heads);
  model.Hkv = read_size(config, family.keys.key_heads, model.H);
  model.F = read_size(config, family.keys.mlp);
  model.context = read_size(config, family.keys.context);
  model.V = read_size(config, "vocab_size");
  if (!family.embedding_rows_key.empty()) {
    const Index rows = read_size(config, family.embedding_rows_key, model.V);
    if (rows < model.V) {
      fail("{}: \"{}\" is {}, less than \"vocab_size\" {}", place, family.embedding_rows_key, rows, model.V);
    }
    model.V = rows;
  }
  if (model.H % model.Hkv != 0) fail("{}: {} heads do not divide by {} key heads", place, model.H, model.Hkv);
  if (!config.has("head_dim") && model.E % model.H != 0) {
    fail("{}: width {} does not divide by {} heads", place, model.E, model.H);
  }
  model.D = read_size(config, "head_dim", model.E / model.H);
  if (model.D % 2 != 0) fail("{}: head size is {}, expected an even number", place, model.D);
  model.rms_epsilon = static_cast<float>(config.number_or("rms_norm_eps", family.rms_epsilon));
  if (!(model.rms_epsilon > 0 && model.rms_epsilon < 1)) {
    fail("{}: \"rms_norm_eps\" is {}, expected above 0, below 1", place, model.rms_epsilon);
  }
  read_rope(config, model);
  model.tied = config.boolean_or(family.keys.tied, false);
  model.qkv_bias =
      family.qkv_bias_key.empty() ? family.qkv_bias : config.boolean_or(family.qkv_bias_key, family.qkv_bias);
  model.mask_id = read_token(config, "mask_token_id", model.V);
  if (family.writing == Writing::kFillsMasks && !model.mask_id)
    fail("{}: \"mask_token_id\" is missing", place);
  if (family.end_of_turn && *family.end_of_turn < model.V) model.end_of_turn = family.end_of_turn;
  add_eos_ids(config, model.V, model.eos_ids);
  if (generation != nullptr) {
    add_eos_ids(JsonObject(*generation, place + ": generation_config"), model.V, model.eos_ids);
  }
  std::ranges::sort(model.eos_ids);
  model.eos_ids.erase(std::unique(model.eos_ids.begin(), model.eos_ids.end()), model.eos_ids.end());
  return model;
}

ModelConfig read_model_config(const std::filesystem::path& directory) {
  if (!std::filesystem::is_directory(directory)) fail("{}: no such model directory", directory.string());
  const std::filesystem::path path = directory / "config.json";
  const Json config = read_json_file(path);
  const std::filesystem::path generation_path = directory / "generation_config.json";
  if (!std::filesystem::exists(generation_path)) return parse_model_config(config, nullptr, path.string());
  const Json generation = read_json_file(generation_path);
  return parse_model_config(config, &generation, path.string());
}

}  // namespace buoy
