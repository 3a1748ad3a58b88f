// The settings of all samplers under one set of names, those of the command line, of JSON and of Python, and
// the one call that generates with the sampler of a model's family.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/decode/autoregressive.h"
#include "buoy/decode/block_diffusion.h"
#include "buoy/decode/masked_diffusion.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

// What a run remembers of the code that draws tokens: to be raised when the same logits, settings and seed
// give other tokens than before.
inline constexpr Index kSamplerCode = 2;

// What is not set takes its default from the rest. Plain data.
struct SamplerSettings {
  Index gen_length = 128;  // tokens to generate
  double temperature = 0;  // 0: the most probable token
  std::uint64_t seed = 0;
  // Masked diffusion. Steps are of the whole generation; blocks share them.
  std::optional<Index> steps;  // gen_length
  // LLaDA and A2D, Dream, block families.
  std::optional<Index> block_length;  // one block of gen_length; block families: the model's own
  // LLaDA and A2D, Dream: what is approximate, and how often everything is computed again.
  CacheKind cache = CacheKind::kNone;
  std::optional<Index> cache_refresh;  // default_refresh()
  // LLaDA, A2D and block families.
  Remasking remasking = Remasking::kLowConfidence;
  ConfidenceType confidence = ConfidenceType::kF64;  // LLaDA and A2D
  double cfg_scale = 0;
  std::optional<double> threshold;        // see LladaOptions and BlockPick
  std::optional<Index> sub_block_length;  // Fast-dLLM v2: 8, or the block's where that is less
  bool logits_eos_inf = false, confidence_eos_eot_inf = false;
  // Dream.
  DreamAlgorithm alg = DreamAlgorithm::kOrigin;
  double alg_temp = 0, eps = 1e-3;
  // All but LLaDA.
  double top_p = 1;
  Index top_k = 0;
  // Autoregressive and block families.
  std::vector<TokenId> stop_ids;  // beside the model's own
  bool ignore_eos = false;
};

LladaOptions llada_options(const SamplerSettings& settings, LladaQuota quota = LladaQuota::kEven);
DreamOptions dream_options(const SamplerSettings& settings);
AutoregressiveOptions autoregressive_options(const SamplerSettings& settings, const ModelConfig& config);
BlockOptions block_options(const SamplerSettings& settings, const ModelConfig& config);

// The approximate cache that a model generates with: none where its family has none. Throws UsageError where
// a layer keeps nothing that could be left as it was: state space mixers.
CacheKind cache_of(const SamplerSettings& settings, const ModelConfig& config);
// "dual, approximate", "delayed, approximate, refreshed every 8 passes": for outputs. Empty without a cache.
std::string describe_cache(const SamplerSettings& settings, const ModelConfig& config);
// Throws UsageError where there is one: `what` records or changes passes, which a cache cuts short.
void check_watchable(const SamplerSettings& settings, const ModelConfig& config, std::string_view what);

// What the passes of a generation from a prompt of that length see.
Mask generation_mask(const SamplerSettings& settings, const ModelConfig& config, Index prompt_length);

// Throws UsageError unless the settings make sense to the sampler of this model.
void check_settings(const SamplerSettings& settings, const ModelConfig& config);

// The steps that no generation exceeds; none where only its run tells.
std::optional<Index> most_steps(const SamplerSettings& settings, const ModelConfig& config);

// Settings by name: "steps", "block_length", …; `given` are those that the user set by name. Says which of
// them would have no effect on a family, and why. `spell` writes a setting's name as the user typed it.
using SettingSpelling = std::function<std::string(std::string_view name)>;
std::map<std::string, std::string> useless_settings(const SamplerSettings& settings,
                                                    const std::set<std::string>& given, const Family& family,
                                                    const SettingSpelling& spell);
// The names of all settings.
std::vector<std::string_view> sampler_setting_names();

// The settings that count for a model, for records: two runs with the same JSON draw the same tokens.
Json to_json(const SamplerSettings& settings, const ModelConfig& config);

// "low_confidence", "random", "sequential"; "origin", "maskgit_plus", "topk_margin", "entropy", "p2".
std::string_view name_of(Remasking remasking);
std::string_view name_of(DreamAlgorithm alg);
std::string_view name_of(ConfidenceType type);  // "f64", "f32", "bf16"
std::vector<std::string> remasking_names();
std::vector<std::string> dream_algorithm_names();
std::vector<std::string> confidence_type_names();
// Throw UsageError listing what there is.
Remasking parse_remasking(std::string_view name);
DreamAlgorithm parse_dream_algorithm(std::string_view name);
ConfidenceType parse_confidence_type(std::string_view name);

// Generates for a batch of prompts with the sampler of the model's family. Sample i draws from streams.of(i).
// Throws UsageError and Error as generate_llada() does, and Cancelled when the observer asks for it.
std::vector<Generation> generate(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                 const SamplerSettings& settings, GenerationObserver* observer = nullptr,
                                 SampleStreams streams = {});

}  // namespace buoy
