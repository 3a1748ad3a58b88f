#include "buoy/decode/sampler.h"

#include <algorithm>
#include <array>

#include "buoy/base/enum_names.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

// A bit for each sampler.
constexpr unsigned bit_of(SamplerKind sampler) {
  return 1u << static_cast<unsigned>(sampler);
}

constexpr unsigned kLlada = bit_of(SamplerKind::kLlada) | bit_of(SamplerKind::kA2d),
                   kDream = bit_of(SamplerKind::kDream), kCausal = bit_of(SamplerKind::kAutoregressive),
                   kSdar = bit_of(SamplerKind::kSdar), kFast = bit_of(SamplerKind::kFastDllm),
                   kBd3lm = bit_of(SamplerKind::kBd3lm),
                   kStopping =
                       kSdar | kFast | bit_of(SamplerKind::kLlada2) | bit_of(SamplerKind::kStableDiffcoder),
                   kBlocks = kStopping | kBd3lm, kAll = kLlada | kDream | kCausal | kBlocks;

// Which samplers each setting means something to.
constexpr struct {
  std::string_view name;
  unsigned samplers;
} kSettings[] = {
    {"gen_length", kAll},
    {"temperature", kAll},
    {"seed", kAll},
    {"steps", (kLlada | kDream | kBlocks) & ~kFast},
    {"block_length", kLlada | kDream | kBlocks},
    {"cache", kLlada | kDream},
    {"cache_refresh", kLlada | kDream},
    {"sub_block_length", kFast},
    {"remasking", kLlada | kSdar},
    {"confidence", kLlada},
    {"cfg_scale", kLlada},
    {"threshold", kLlada | kStopping},
    {"logits_eos_inf", kLlada},
    {"confidence_eos_eot_inf", kLlada},
    {"alg", kDream},
    {"alg_temp", kDream},
    {"eps", kDream},
    {"top_p", kDream | kCausal | kBlocks},
    {"top_k", kDream | kCausal | kBlocks},
    {"stop_ids", kCausal | kStopping},
    {"ignore_eos", kCausal | kStopping},
};

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kRemasking = {"low_confidence", "random", "sequential"};
constexpr std::array<std::string_view, 5> kAlgorithms = {"origin", "maskgit_plus", "topk_margin", "entropy",
                                                         "p2"};
constexpr std::array<std::string_view, 3> kConfidenceTypes = {"f64", "f32", "bf16"};

// The stop ids of samplers that stop.
std::vector<TokenId> stop_ids_of(const SamplerSettings& s, const ModelConfig& config) {
  for (const TokenId id : s.stop_ids) {
    if (id < 0 || id >= config.V) fail_usage("stop_ids holds {}, outside the vocabulary of {}", id, config.V);
  }
  std::vector<TokenId> ids;
  if (!s.ignore_eos) ids = config.eos_ids;
  ids.insert(ids.end(), s.stop_ids.begin(), s.stop_ids.end());
  return ids;
}

// dKV-Cache keeps nothing before LLaDA's third pass of a block, and before Dream's second.
CacheOptions cache_options(const SamplerSettings& s, Index delay) {
  return {.kind = s.cache,
          .refresh = s.cache_refresh.value_or(default_refresh(s.cache)),
          .whole_passes = s.cache == CacheKind::kDelayed ? delay : 1};
}

template <std::size_t n>
std::vector<std::string> strings(const std::array<std::string_view, n>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

std::string_view name_of(Remasking remasking) {
  return kRemasking[static_cast<std::size_t>(remasking)];
}

std::string_view name_of(DreamAlgorithm alg) {
  return kAlgorithms[static_cast<std::size_t>(alg)];
}

std::string_view name_of(ConfidenceType type) {
  return kConfidenceTypes[static_cast<std::size_t>(type)];
}

std::vector<std::string> remasking_names() {
  return strings(kRemasking);
}

std::vector<std::string> dream_algorithm_names() {
  return strings(kAlgorithms);
}

std::vector<std::string> confidence_type_names() {
  return strings(kConfidenceTypes);
}

Remasking parse_remasking(std::string_view name) {
  return enum_named<Remasking>(kRemasking, name, "remasking");
}

DreamAlgorithm parse_dream_algorithm(std::string_view name) {
  return enum_named<DreamAlgorithm>(kAlgorithms, name, "alg");
}

ConfidenceType parse_confidence_type(std::string_view name) {
  return enum_named<ConfidenceType>(kConfidenceTypes, name, "confidence");
}

LladaOptions llada_options(const SamplerSettings& s, LladaQuota quota) {
  return {.gen_length = s.gen_length,
          .steps = s.steps.value_or(s.gen_length),
          .block_length = s.block_length.value_or(s.gen_length),
          .quota = quota,
          .temperature = s.temperature,
          .remasking = s.remasking,
          .confidence = s.confidence,
          .cfg_scale = s.cfg_scale,
          .logits_eos_inf = s.logits_eos_inf,
          .confidence_eos_eot_inf = s.confidence_eos_eot_inf,
          .threshold = s.threshold,
          .cache = cache_options(s, 2),
          .seed = s.seed};
}

DreamOptions dream_options(const SamplerSettings& s) {
  return {.gen_length = s.gen_length,
          .steps = s.steps.value_or(s.gen_length),
          .block_length = s.block_length.value_or(0),
          .eps = s.eps,
          .alg = s.alg,
          .alg_temp = s.alg_temp,
          .sampling = {.temperature = s.temperature,
                       .top_p = s.top_p,
                       .top_k = s.top_k,
                       .order = FilterOrder::kTopPFirst},
          .cache = cache_options(s, 1),
          .seed = s.seed};
}

AutoregressiveOptions autoregressive_options(const SamplerSettings& s, const ModelConfig& config) {
  return {.max_new_tokens = s.gen_length,
          .sampling = {.temperature = s.temperature, .top_p = s.top_p, .top_k = s.top_k},
          .stop_ids = stop_ids_of(s, config),
          .seed = s.seed};
}

BlockOptions block_options(const SamplerSettings& s, const ModelConfig& config) {
  const SamplerKind kind = config.family->sampler;
  const Index B = s.block_length.value_or(config.block);
  const Index blocks = B < 1 ? 1 : std::max<Index>(1, (s.gen_length + B - 1) / B);
  BlockOptions o{.gen_length = s.gen_length,
                 .block_length = B,
                 .block_steps = (s.steps.value_or(s.gen_length) + blocks - 1) / blocks,
                 .start = config.family->block_start,
                 .threshold = s.threshold.value_or(1),
                 .sampling = {.temperature = s.temperature, .top_p = s.top_p, .top_k = s.top_k},
                 .stop_ids = {},
                 .seed = s.seed};
  if ((bit_of(kind) & kStopping) != 0) o.stop_ids = stop_ids_of(s, config);
  switch (kind) {
    case SamplerKind::kBd3lm:
      o.quota = BlockQuota::kScheduled;
      o.extent = BlockExtent::kExact;
      break;
    case SamplerKind::kStableDiffcoder:
      o.quota = BlockQuota::kOfMasks;
      o.extent = BlockExtent::kExact;
      o.repeat_stop = true;
      if (s.threshold) o.pick = BlockPick::kBestAndReaching;
      break;
    case SamplerKind::kFastDllm:
      o.extent = BlockExtent::kChained;
      o.pick = BlockPick::kBestAndAbove;
      o.sub_block_length = s.sub_block_length.value_or(std::min<Index>(8, B));
      break;
    default:  // SDAR and LLaDA2
      if (s.threshold) o.pick = BlockPick::kAboveOrQuota;
      if (s.remasking == Remasking::kSequential) o.pick = BlockPick::kLeftmost;
  }
  return o;
}

Mask generation_mask(const SamplerSettings& settings, const ModelConfig& config, Index prompt_length) {
  if ((bit_of(config.family->sampler) & kBlocks) == 0) return config.mask;
  return block_mask(block_options(settings, config), prompt_length);
}

CacheKind cache_of(const SamplerSettings& s, const ModelConfig& config) {
  const CacheKind kind =
      (bit_of(config.family->sampler) & (kLlada | kDream)) != 0 ? s.cache : CacheKind::kNone;
  if (kind != CacheKind::kNone && config.ssd) {
    fail_usage(
        "cache {}: a state space layer keeps no keys and values, so that no pass can leave positions out",
        name_of(kind));
  }
  return kind;
}

std::string describe_cache(const SamplerSettings& s, const ModelConfig& config) {
  if (cache_of(s, config) == CacheKind::kNone) return "";
  const Index refresh = s.cache_refresh.value_or(default_refresh(s.cache));
  const std::string often = refresh == 0   ? ""
                            : refresh == 1 ? ", refreshed in every pass"
                                           : fmt::format(", refreshed every {} passes", refresh);
  return fmt::format("{}, approximate{}", name_of(s.cache), often);
}

void check_watchable(const SamplerSettings& s, const ModelConfig& config, std::string_view what) {
  if (cache_of(s, config) == CacheKind::kNone) return;
  fail_usage("cache {} computes some rows only, and {} needs whole passes; buoy audit measures caches",
             name_of(s.cache), what);
}

void check_settings(const SamplerSettings& settings, const ModelConfig& config) {
  // Before anything is added to it or allocated for it. A config that was not read has no context.
  if (config.context > 0 && settings.gen_length > config.context) {
    fail_usage("gen_length is {}, more than the model's context of {}", settings.gen_length, config.context);
  }
  switch (config.family->sampler) {
    case SamplerKind::kLlada:
      return check_options(llada_options(settings));
    case SamplerKind::kA2d:
      return check_options(llada_options(settings, LladaQuota::kScheduled));
    case SamplerKind::kDream:
      return check_options(dream_options(settings));
    case SamplerKind::kAutoregressive:
      return check_options(autoregressive_options(settings, config));
    default:
      break;
  }
  if (settings.remasking == Remasking::kRandom)
    fail_usage("remasking random is not known to {}", config.family->name);
  if (settings.remasking == Remasking::kSequential && config.family->sampler != SamplerKind::kSdar) {
    fail_usage("remasking sequential is SDAR's alone");
  }
  if (settings.remasking == Remasking::kSequential && settings.threshold) {
    fail_usage("threshold has no use for remasking sequential");
  }
  const BlockOptions options = block_options(settings, config);
  check_options(options);
  if (options.block_length > config.context) {
    fail_usage("block_length is {}, more than the model's context of {}", options.block_length,
               config.context);
  }
}

std::optional<Index> most_steps(const SamplerSettings& s, const ModelConfig& config) {
  if (config.family->sampler == SamplerKind::kAutoregressive) return s.gen_length;
  if ((bit_of(config.family->sampler) & (kLlada | kDream)) == 0 || s.threshold) return std::nullopt;
  return s.steps.value_or(s.gen_length);
}

std::map<std::string, std::string> useless_settings(const SamplerSettings& s,
                                                    const std::set<std::string>& given, const Family& family,
                                                    const SettingSpelling& spell) {
  std::map<std::string, std::string> useless;
  const auto complain = [&](bool applies, const std::string& name, const std::string& why) {
    if (applies && given.contains(name)) useless.emplace(name, fmt::format("{} {}", spell(name), why));
  };
  for (const auto& [name, samplers] : kSettings) {
    complain((samplers & bit_of(family.sampler)) == 0, std::string(name),
             fmt::format("has no effect on {} models", family.name));
  }
  const bool draws_tokens = s.temperature > 0, random_order = s.remasking == Remasking::kRandom;
  const bool dream = family.sampler == SamplerKind::kDream, origin = s.alg == DreamAlgorithm::kOrigin;
  const unsigned bit = bit_of(family.sampler);
  const bool quota_too = family.sampler == SamplerKind::kSdar || family.sampler == SamplerKind::kLlada2;
  complain(s.threshold && !quota_too, "steps", fmt::format("has no effect with {}", spell("threshold")));
  complain(random_order, "confidence", fmt::format("has no use for {} random", spell("remasking")));
  complain(random_order, "threshold", fmt::format("has no use for {} random", spell("remasking")));
  complain(s.cache == CacheKind::kNone, "cache_refresh",
           fmt::format("has no effect without {}", spell("cache")));
  complain(dream && origin, "alg_temp", fmt::format("has no effect with {} origin", spell("alg")));
  for (const char* name : {"top_p", "top_k"}) {
    complain(!draws_tokens && (!dream || origin), name, "has no effect at temperature 0");
  }
  const bool draws =
      draws_tokens || (dream && (origin || s.alg_temp > 0)) || ((bit & kLlada) != 0 && random_order);
  complain(!draws, "seed", "has no effect: nothing is drawn at random with these settings");
  return useless;
}

std::vector<std::string_view> sampler_setting_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, samplers] : kSettings) names.push_back(name);
  return names;
}

namespace {

void add_block_options(const BlockOptions& o, const SamplerSettings& s, const ModelConfig& config,
                       Json& json) {
  json["block_length"] = o.block_length;
  json["block_steps"] = o.block_steps;
  if (s.threshold) json["threshold"] = o.threshold;
  if (config.family->sampler == SamplerKind::kSdar) json["remasking"] = name_of(s.remasking);
  if (o.sub_block_length > 0) json["sub_block_length"] = o.sub_block_length;
  json["top_p"] = s.top_p;
  json["top_k"] = s.top_k;
  json["stop_ids"] = o.stop_ids;
}

}  // namespace

Json to_json(const SamplerSettings& s, const ModelConfig& config) {
  Json json = {{"gen_length", s.gen_length}, {"temperature", s.temperature}, {"seed", s.seed}};
  if (cache_of(s, config) != CacheKind::kNone) {
    json["cache"] = name_of(s.cache);
    json["cache_refresh"] = s.cache_refresh.value_or(default_refresh(s.cache));
    json["approximate"] = true;
  }
  switch (config.family->sampler) {
    case SamplerKind::kLlada:
    case SamplerKind::kA2d: {
      const LladaOptions o = llada_options(s);
      json["steps"] = o.steps;
      json["block_length"] = o.block_length;
      json["remasking"] = name_of(o.remasking);
      if (o.confidence != ConfidenceType::kF64) json["confidence"] = name_of(o.confidence);
      json["cfg_scale"] = o.cfg_scale;
      json["logits_eos_inf"] = o.logits_eos_inf;
      json["confidence_eos_eot_inf"] = o.confidence_eos_eot_inf;
      if (o.threshold) json["threshold"] = *o.threshold;
      break;
    }
    case SamplerKind::kDream: {
      const DreamOptions o = dream_options(s);
      json["steps"] = o.steps;
      if (o.block_length > 0) json["block_length"] = o.block_length;
      json["alg"] = name_of(o.alg);
      json["alg_temp"] = o.alg_temp;
      json["eps"] = o.eps;
      json["top_p"] = s.top_p;
      json["top_k"] = s.top_k;
      break;
    }
    case SamplerKind::kAutoregressive:
      json["top_p"] = s.top_p;
      json["top_k"] = s.top_k;
      json["stop_ids"] = autoregressive_options(s, config).stop_ids;
      break;
    default:
      add_block_options(block_options(s, config), s, config, json);
  }
  return json;
}

std::vector<Generation> generate(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                 const SamplerSettings& settings, GenerationObserver* observer,
                                 SampleStreams streams) {
  check_settings(settings, model.config());
  switch (model.config().family->sampler) {
    case SamplerKind::kLlada:
      return generate_llada(model, prompts, llada_options(settings), observer, streams);
    case SamplerKind::kA2d:
      return generate_llada(model, prompts, llada_options(settings, LladaQuota::kScheduled), observer,
                            streams);
    case SamplerKind::kDream:
      return generate_dream(model, prompts, dream_options(settings), observer, streams);
    case SamplerKind::kAutoregressive:
      return generate_autoregressive(model, prompts, autoregressive_options(settings, model.config()),
                                     observer, streams);
    default:
      return generate_blocks(model, prompts, block_options(settings, model.config()), observer, streams);
  }
}

}  // namespace buoy
