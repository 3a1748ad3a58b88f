#include "buoy/decode/sampler.h"

#include <algorithm>
#include <array>

#include "buoy/base/enum_names.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

constexpr unsigned kLlada = 1, kDream = 2, kCausal = 4, kAll = kLlada | kDream | kCausal;

// Which samplers each setting means something to.
constexpr struct {
  std::string_view name;
  unsigned samplers;
} kSettings[] = {
    {"gen_length", kAll},
    {"temperature", kAll},
    {"seed", kAll},
    {"steps", kLlada | kDream},
    {"block_length", kLlada},
    {"remasking", kLlada},
    {"cfg_scale", kLlada},
    {"threshold", kLlada},
    {"logits_eos_inf", kLlada},
    {"confidence_eos_eot_inf", kLlada},
    {"alg", kDream},
    {"alg_temp", kDream},
    {"eps", kDream},
    {"top_p", kDream | kCausal},
    {"top_k", kDream | kCausal},
    {"stop_ids", kCausal},
    {"ignore_eos", kCausal},
};

unsigned bit_of(SamplerKind sampler) {
  return sampler == SamplerKind::kLlada ? kLlada : sampler == SamplerKind::kDream ? kDream : kCausal;
}

// In the order of the enumerators.
constexpr std::array<std::string_view, 2> kRemasking = {"low_confidence", "random"};
constexpr std::array<std::string_view, 4> kAlgorithms = {"origin", "maskgit_plus", "topk_margin", "entropy"};

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

std::vector<std::string> remasking_names() {
  return strings(kRemasking);
}

std::vector<std::string> dream_algorithm_names() {
  return strings(kAlgorithms);
}

Remasking parse_remasking(std::string_view name) {
  return enum_named<Remasking>(kRemasking, name, "remasking");
}

DreamAlgorithm parse_dream_algorithm(std::string_view name) {
  return enum_named<DreamAlgorithm>(kAlgorithms, name, "alg");
}

LladaOptions llada_options(const SamplerSettings& s) {
  return {.gen_length = s.gen_length,
          .steps = s.steps.value_or(s.gen_length),
          .block_length = s.block_length.value_or(s.gen_length),
          .temperature = s.temperature,
          .remasking = s.remasking,
          .cfg_scale = s.cfg_scale,
          .logits_eos_inf = s.logits_eos_inf,
          .confidence_eos_eot_inf = s.confidence_eos_eot_inf,
          .threshold = s.threshold,
          .seed = s.seed};
}

DreamOptions dream_options(const SamplerSettings& s) {
  return {.gen_length = s.gen_length,
          .steps = s.steps.value_or(s.gen_length),
          .eps = s.eps,
          .alg = s.alg,
          .alg_temp = s.alg_temp,
          .sampling = {.temperature = s.temperature,
                       .top_p = s.top_p,
                       .top_k = s.top_k,
                       .order = FilterOrder::kTopPFirst},
          .seed = s.seed};
}

AutoregressiveOptions autoregressive_options(const SamplerSettings& s, const ModelConfig& config) {
  AutoregressiveOptions options{
      .max_new_tokens = s.gen_length,
      .sampling = {.temperature = s.temperature, .top_p = s.top_p, .top_k = s.top_k},
      .stop_ids = {},
      .seed = s.seed};
  for (const TokenId id : s.stop_ids) {
    if (id < 0 || id >= config.V) fail_usage("stop_ids holds {}, outside the vocabulary of {}", id, config.V);
  }
  if (!s.ignore_eos) options.stop_ids = config.eos_ids;
  options.stop_ids.insert(options.stop_ids.end(), s.stop_ids.begin(), s.stop_ids.end());
  return options;
}

void check_settings(const SamplerSettings& settings, const ModelConfig& config) {
  switch (config.family->sampler) {
    case SamplerKind::kLlada:
      return check_options(llada_options(settings));
    case SamplerKind::kDream:
      return check_options(dream_options(settings));
    case SamplerKind::kAutoregressive:
      break;
  }
  check_options(autoregressive_options(settings, config));
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
  complain(s.threshold.has_value(), "steps", fmt::format("has no effect with {}", spell("threshold")));
  complain(random_order, "threshold", fmt::format("has no use for {} random", spell("remasking")));
  complain(dream && origin, "alg_temp", fmt::format("has no effect with {} origin", spell("alg")));
  for (const char* name : {"top_p", "top_k"}) {
    complain(!draws_tokens && (!dream || origin), name, "has no effect at temperature 0");
  }
  const bool draws = draws_tokens || (dream && (origin || s.alg_temp > 0)) ||
                     (family.sampler == SamplerKind::kLlada && random_order);
  complain(!draws, "seed", "has no effect: nothing is drawn at random with these settings");
  return useless;
}

std::vector<std::string_view> sampler_setting_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, samplers] : kSettings) names.push_back(name);
  return names;
}

Json to_json(const SamplerSettings& s, const ModelConfig& config) {
  Json json = {{"gen_length", s.gen_length}, {"temperature", s.temperature}, {"seed", s.seed}};
  switch (config.family->sampler) {
    case SamplerKind::kLlada: {
      const LladaOptions o = llada_options(s);
      json["steps"] = o.steps;
      json["block_length"] = o.block_length;
      json["remasking"] = name_of(o.remasking);
      json["cfg_scale"] = o.cfg_scale;
      json["logits_eos_inf"] = o.logits_eos_inf;
      json["confidence_eos_eot_inf"] = o.confidence_eos_eot_inf;
      if (o.threshold) json["threshold"] = *o.threshold;
      break;
    }
    case SamplerKind::kDream: {
      const DreamOptions o = dream_options(s);
      json["steps"] = o.steps;
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
  }
  return json;
}

std::vector<Generation> generate(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                 const SamplerSettings& settings, GenerationObserver* observer,
                                 SampleStreams streams) {
  switch (model.config().family->sampler) {
    case SamplerKind::kLlada:
      return generate_llada(model, prompts, llada_options(settings), observer, streams);
    case SamplerKind::kDream:
      return generate_dream(model, prompts, dream_options(settings), observer, streams);
    case SamplerKind::kAutoregressive:
      break;
  }
  return generate_autoregressive(model, prompts, autoregressive_options(settings, model.config()), observer,
                                 streams);
}

}  // namespace buoy
