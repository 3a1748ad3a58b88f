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

void SamplerFlags::add_cache_to(Verb& verb, const std::string& group) {
  verb.option(
          "--cache", &cache_,
          "Approximate: keep keys and values though they would change; prefix or dual (Fast-dLLM) or delayed "
          "(dKV-Cache); LLaDA, A2D and Dream")
      .choices(cache_kind_names())
      .group(group);
  verb.option("--cache-refresh", &given_.cache_refresh,
              "Compute everything again every so many passes of a block; 0: at its start only; default 0, "
              "delayed 8")
      .at_least(0)
      .hide_default()
      .group(group);
}

void SamplerFlags::add_to(Verb& verb, CacheFlags cache) {
  verb_ = verb;
  cache_flags_ = cache;
  const std::string masked = "Masked diffusion", llada_group = "LLaDA, A2D, Dream and block families",
                    dream_group = "Dream and Open-dCoder", causal = "Llama, Qwen and block families";
  verb.option("--gen-length,--max-new-tokens", &given_.gen_length, "Tokens to generate").at_least(1);
  verb.option("--temperature", &given_.temperature, "0: the most probable token").at_least(0);
  verb.option("--top-p", &given_.top_p, "Keep the most probable tokens up to this sum (not LLaDA)")
      .above(0, 1);
  verb.option("--top-k", &given_.top_k, "Keep this many tokens; 0: all (not LLaDA)").at_least(0);
  verb.option("--seed", &given_.seed, "Names the random draws; the same seed gives the same result");
  verb.option("--steps", &given_.steps, "Denoising steps; default: as many as --gen-length")
      .at_least(1)
      .group(masked);
  verb.option("--block-length", &given_.block_length,
              "Blocks are filled left to right; default: one block (block families: the model's own)")
      .at_least(1)
      .group(llada_group);
  if (cache == CacheFlags::kHere) add_cache_to(verb, masked);
  verb.option("--sub-block-length", &given_.sub_block_length,
              "Fast-dLLM v2: a block is filled in pieces of this length; default 8")
      .at_least(1)
      .hide_default()
      .group(llada_group);
  verb.option("--remasking", &remasking_,
              "Which masks are filled first: low_confidence (the surest), random or (SDAR) sequential")
      .choices(remasking_names())

      .group(llada_group);
  verb.option("--confidence", &confidence_,
              "LLaDA, A2D: rank confidences rounded to f64, f32 or bf16; in the last two many are equal")
      .choices(confidence_type_names())
      .group(llada_group);
  verb.option("--cfg-scale", &given_.cfg_scale, "Classifier-free guidance; 0: off")
      .at_least(0)
      .group(llada_group);
  verb.option("--threshold", &given_.threshold, "Parallel mode: fill all masks at least this sure; try 0.9")
      .above(0, 1)
      .group(llada_group);
  verb.flag("--logits-eos-inf", &given_.logits_eos_inf, "Never propose EOS").group(llada_group);
  verb.flag("--confidence-eos-eot-inf", &given_.confidence_eos_eot_inf, "Fill EOS and end-of-turn last")
      .group(llada_group);
  verb.option("--alg", &alg_,
              "Which masks are filled first: origin, maskgit_plus, topk_margin, entropy or p2 (which may "
              "take back)")
      .choices(dream_algorithm_names())

      .group(dream_group);
  verb.option("--alg-temp", &given_.alg_temp,
              "Draw positions by confidence at this temperature; 0: the surest")
      .at_least(0)
      .group(dream_group);
  verb.option("--eps", &given_.eps, "The last noise level").above(0).group(dream_group);
  verb.option("--stop-ids", &stop_ids_, "Stop at these ids too, e.g. 13,198").group(causal);
  verb.flag("--ignore-eos", &given_.ignore_eos, "Go on after EOS").group(causal);
}

SamplerSettings SamplerFlags::settings() const {
  SamplerSettings made = given_;
  made.remasking = parse_remasking(remasking_);
  made.confidence = parse_confidence_type(confidence_);
  made.alg = parse_dream_algorithm(alg_);
  made.cache = parse_cache_kind(cache_);
  if (verb_->given("--stop-ids")) made.stop_ids = parse_ids(stop_ids_, "--stop-ids");
  return made;
}

void SamplerFlags::check_effects(std::span<const Family* const> families) const {
  std::set<std::string> given;
  for (const std::string_view name : sampler_setting_names()) {
    if (cache_flags_ == CacheFlags::kElsewhere && name.starts_with("cache")) continue;
    if (verb_->given(flag_of(name))) given.emplace(name);
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
