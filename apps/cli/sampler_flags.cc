#include "apps/cli/sampler_flags.h"

#include <map>

#include "apps/cli/engine.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

constexpr unsigned kLlada = 1, kDream = 2, kCausal = 4;

// Which samplers each flag means something to.
constexpr struct {
  const char* flag;
  unsigned samplers;
} kFlags[] = {
    {"--steps", kLlada | kDream},
    {"--block-length", kLlada},
    {"--remasking", kLlada},
    {"--cfg-scale", kLlada},
    {"--threshold", kLlada},
    {"--logits-eos-inf", kLlada},
    {"--confidence-eos-eot-inf", kLlada},
    {"--alg", kDream},
    {"--alg-temp", kDream},
    {"--eps", kDream},
    {"--top-p", kDream | kCausal},
    {"--top-k", kDream | kCausal},
    {"--stop-ids", kCausal},
    {"--ignore-eos", kCausal},
};

unsigned bit_of(SamplerKind sampler) {
  return sampler == SamplerKind::kLlada ? kLlada : sampler == SamplerKind::kDream ? kDream : kCausal;
}

const std::map<std::string, Remasking> kRemasking = {{"low_confidence", Remasking::kLowConfidence},
                                                     {"random", Remasking::kRandom}};
const std::map<std::string, DreamAlgorithm> kAlgorithms = {{"origin", DreamAlgorithm::kOrigin},
                                                           {"maskgit_plus", DreamAlgorithm::kMaskgitPlus},
                                                           {"topk_margin", DreamAlgorithm::kTopkMargin},
                                                           {"entropy", DreamAlgorithm::kEntropy}};

template <typename T>
std::vector<std::string> names_of(const std::map<std::string, T>& table) {
  std::vector<std::string> names;
  for (const auto& [name, value] : table) names.push_back(name);
  return names;
}

}  // namespace

void SamplerFlags::add_to(CLI::App& verb) {
  verb_ = &verb;
  const std::string masked = "Masked diffusion", llada_group = "LLaDA", dream_group = "Dream",
                    causal = "Llama and Qwen";
  verb.add_option("--gen-length,--max-new-tokens", gen_length, "Tokens to generate")->capture_default_str();
  verb.add_option("--temperature", temperature, "0: the most probable token")->capture_default_str();
  verb.add_option("--top-p", top_p, "Keep the most probable tokens up to this sum (not LLaDA)")
      ->capture_default_str();
  verb.add_option("--top-k", top_k, "Keep this many tokens; 0: all (not LLaDA)")->capture_default_str();
  verb.add_option("--seed", seed, "Names the random draws; the same seed gives the same result")
      ->capture_default_str();
  verb.add_option("--steps", steps, "Denoising steps; default: as many as --gen-length")->group(masked);
  verb.add_option("--block-length", block_length, "Blocks are filled left to right; default: one block")
      ->group(llada_group);
  verb.add_option("--remasking", remasking,
                  "Which masks are filled first: low_confidence (the surest) or random")
      ->check(CLI::IsMember(names_of(kRemasking)))
      ->capture_default_str()
      ->group(llada_group);
  verb.add_option("--cfg-scale", cfg_scale, "Classifier-free guidance; 0: off")
      ->capture_default_str()
      ->group(llada_group);
  verb.add_option("--threshold", threshold, "Parallel mode: fill all masks at least this sure; try 0.9")
      ->group(llada_group);
  verb.add_flag("--logits-eos-inf", logits_eos_inf, "Never propose EOS")->group(llada_group);
  verb.add_flag("--confidence-eos-eot-inf", confidence_eos_eot_inf, "Fill EOS and end-of-turn last")
      ->group(llada_group);
  verb.add_option("--alg", alg, "Which masks are filled first: origin, maskgit_plus, topk_margin or entropy")
      ->check(CLI::IsMember(names_of(kAlgorithms)))
      ->capture_default_str()
      ->group(dream_group);
  verb.add_option("--alg-temp", alg_temp, "Draw positions by confidence at this temperature; 0: the surest")
      ->capture_default_str()
      ->group(dream_group);
  verb.add_option("--eps", eps, "The last noise level")->capture_default_str()->group(dream_group);
  verb.add_option("--stop-ids", stop_ids, "Stop at these ids too, e.g. 13,198")->group(causal);
  verb.add_flag("--ignore-eos", ignore_eos, "Go on after EOS")->group(causal);
}

bool SamplerFlags::given(const std::string& flag) const {
  return verb_->count(flag) > 0;
}

std::map<std::string, std::string> SamplerFlags::useless_flags(const Family& family) const {
  std::map<std::string, std::string> useless;
  const auto complain = [&](bool applies, const char* flag, std::string why) {
    if (applies && given(flag)) useless.emplace(flag, std::move(why));
  };
  for (const auto& [flag, samplers] : kFlags) {
    complain((samplers & bit_of(family.sampler)) == 0, flag,
             fmt::format("{} has no effect on {} models", flag, family.name));
  }
  const bool draws_tokens = temperature > 0;
  const bool dream = family.sampler == SamplerKind::kDream, origin = alg == "origin";
  complain(given("--threshold"), "--steps", "--steps has no effect with --threshold");
  complain(remasking == "random", "--threshold", "--threshold has no use for --remasking random");
  complain(dream && origin, "--alg-temp", "--alg-temp has no effect with --alg origin");
  for (const char* flag : {"--top-p", "--top-k"}) {
    complain(!draws_tokens && (!dream || origin), flag,
             fmt::format("{} has no effect at temperature 0", flag));
  }
  const bool draws = draws_tokens || (dream && (origin || alg_temp > 0)) ||
                     (family.sampler == SamplerKind::kLlada && remasking == "random");
  complain(!draws, "--seed", "--seed has no effect: nothing is drawn at random with these settings");
  return useless;
}

void SamplerFlags::check_effects(std::span<const Family* const> families) const {
  std::map<std::string, std::string> useless = useless_flags(*families.front());
  for (const Family* family : families.subspan(1)) {
    const std::map<std::string, std::string> here = useless_flags(*family);
    std::erase_if(useless, [&](const auto& flag) { return !here.contains(flag.first); });
  }
  if (!useless.empty()) fail_usage("{}", useless.begin()->second);
}

void SamplerFlags::check_effects(const Family& family) const {
  const Family* const one = &family;
  check_effects({&one, 1});
}

LladaOptions SamplerFlags::llada() const {
  return {.gen_length = gen_length,
          .steps = steps.value_or(gen_length),
          .block_length = block_length.value_or(gen_length),
          .temperature = temperature,
          .remasking = kRemasking.at(remasking),
          .cfg_scale = cfg_scale,
          .logits_eos_inf = logits_eos_inf,
          .confidence_eos_eot_inf = confidence_eos_eot_inf,
          .threshold = given("--threshold") ? std::optional(threshold) : std::nullopt,
          .seed = seed};
}

DreamOptions SamplerFlags::dream() const {
  return {.gen_length = gen_length,
          .steps = steps.value_or(gen_length),
          .eps = eps,
          .alg = kAlgorithms.at(alg),
          .alg_temp = alg_temp,
          .sampling = {.temperature = temperature,
                       .top_p = top_p,
                       .top_k = top_k,
                       .order = FilterOrder::kTopPFirst},
          .seed = seed};
}

AutoregressiveOptions SamplerFlags::autoregressive(const ModelConfig& config) const {
  AutoregressiveOptions options{.max_new_tokens = gen_length,
                                .sampling = {.temperature = temperature, .top_p = top_p, .top_k = top_k},
                                .seed = seed};
  if (!ignore_eos) options.stop_ids = config.eos_ids;
  if (given("--stop-ids")) {
    for (const TokenId id : parse_ids(stop_ids)) options.stop_ids.push_back(id);
  }
  return options;
}

Json SamplerFlags::to_json(const ModelConfig& config) const {
  Json json = {{"gen_length", gen_length}, {"temperature", temperature}, {"seed", seed}};
  switch (config.family->sampler) {
    case SamplerKind::kLlada: {
      const LladaOptions o = llada();
      json["steps"] = o.steps;
      json["block_length"] = o.block_length;
      json["remasking"] = remasking;
      json["cfg_scale"] = o.cfg_scale;
      json["logits_eos_inf"] = o.logits_eos_inf;
      json["confidence_eos_eot_inf"] = o.confidence_eos_eot_inf;
      if (o.threshold) json["threshold"] = *o.threshold;
      break;
    }
    case SamplerKind::kDream: {
      const DreamOptions o = dream();
      json["steps"] = o.steps;
      json["alg"] = alg;
      json["alg_temp"] = o.alg_temp;
      json["eps"] = o.eps;
      json["top_p"] = top_p;
      json["top_k"] = top_k;
      break;
    }
    case SamplerKind::kAutoregressive:
      json["top_p"] = top_p;
      json["top_k"] = top_k;
      json["stop_ids"] = autoregressive(config).stop_ids;
      break;
  }
  return json;
}

std::vector<Generation> generate(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                 const SamplerFlags& flags, GenerationObserver* observer,
                                 SampleStreams streams) {
  switch (model.config().family->sampler) {
    case SamplerKind::kLlada:
      return generate_llada(model, prompts, flags.llada(), observer, streams);
    case SamplerKind::kDream:
      return generate_dream(model, prompts, flags.dream(), observer, streams);
    case SamplerKind::kAutoregressive:
      break;
  }
  return generate_autoregressive(model, prompts, flags.autoregressive(model.config()), observer, streams);
}

}  // namespace buoy
