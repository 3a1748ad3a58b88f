#include "apps/cli/sampler_flags.h"

#include <algorithm>
#include <map>
#include <set>

#include "apps/cli/model_flags.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

// "--block-length" of "block_length".
std::string flag_of(std::string_view setting) {
  std::string flag = "--" + std::string(setting);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

}  // namespace

void SamplerFlags::add_to(CLI::App& verb) {
  verb_ = &verb;
  const std::string masked = "Masked diffusion", llada_group = "LLaDA", dream_group = "Dream",
                    causal = "Llama and Qwen";
  verb.add_option("--gen-length,--max-new-tokens", given_.gen_length, "Tokens to generate")
      ->capture_default_str();
  verb.add_option("--temperature", given_.temperature, "0: the most probable token")->capture_default_str();
  verb.add_option("--top-p", given_.top_p, "Keep the most probable tokens up to this sum (not LLaDA)")
      ->capture_default_str();
  verb.add_option("--top-k", given_.top_k, "Keep this many tokens; 0: all (not LLaDA)")
      ->capture_default_str();
  verb.add_option("--seed", given_.seed, "Names the random draws; the same seed gives the same result")
      ->capture_default_str();
  verb.add_option("--steps", given_.steps, "Denoising steps; default: as many as --gen-length")
      ->group(masked);
  verb.add_option("--block-length", given_.block_length,
                  "Blocks are filled left to right; default: one block")
      ->group(llada_group);
  verb.add_option("--remasking", remasking_,
                  "Which masks are filled first: low_confidence (the surest) or random")
      ->check(CLI::IsMember(remasking_names()))
      ->capture_default_str()
      ->group(llada_group);
  verb.add_option("--cfg-scale", given_.cfg_scale, "Classifier-free guidance; 0: off")
      ->capture_default_str()
      ->group(llada_group);
  verb.add_option("--threshold", given_.threshold,
                  "Parallel mode: fill all masks at least this sure; try 0.9")
      ->group(llada_group);
  verb.add_flag("--logits-eos-inf", given_.logits_eos_inf, "Never propose EOS")->group(llada_group);
  verb.add_flag("--confidence-eos-eot-inf", given_.confidence_eos_eot_inf, "Fill EOS and end-of-turn last")
      ->group(llada_group);
  verb.add_option("--alg", alg_, "Which masks are filled first: origin, maskgit_plus, topk_margin or entropy")
      ->check(CLI::IsMember(dream_algorithm_names()))
      ->capture_default_str()
      ->group(dream_group);
  verb.add_option("--alg-temp", given_.alg_temp,
                  "Draw positions by confidence at this temperature; 0: the surest")
      ->capture_default_str()
      ->group(dream_group);
  verb.add_option("--eps", given_.eps, "The last noise level")->capture_default_str()->group(dream_group);
  verb.add_option("--stop-ids", stop_ids_, "Stop at these ids too, e.g. 13,198")->group(causal);
  verb.add_flag("--ignore-eos", given_.ignore_eos, "Go on after EOS")->group(causal);
}

SamplerSettings SamplerFlags::settings() const {
  SamplerSettings made = given_;
  made.remasking = parse_remasking(remasking_);
  made.alg = parse_dream_algorithm(alg_);
  if (verb_->count("--stop-ids") > 0) made.stop_ids = parse_ids(stop_ids_);
  return made;
}

void SamplerFlags::check_effects(std::span<const Family* const> families) const {
  std::set<std::string> given;
  for (const std::string_view name : sampler_setting_names()) {
    if (verb_->count(flag_of(name)) > 0) given.emplace(name);
  }
  std::map<std::string, std::string> useless =
      useless_settings(settings(), given, *families.front(), flag_of);
  for (const Family* family : families.subspan(1)) {
    const std::map<std::string, std::string> here = useless_settings(settings(), given, *family, flag_of);
    std::erase_if(useless, [&](const auto& setting) { return !here.contains(setting.first); });
  }
  if (!useless.empty()) fail_usage("{}", useless.begin()->second);
}

void SamplerFlags::check_effects(const Family& family) const {
  const Family* const one = &family;
  check_effects({&one, 1});
}

}  // namespace buoy
