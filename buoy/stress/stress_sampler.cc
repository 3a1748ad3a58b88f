#include "buoy/stress/stress_sampler.h"

#include "buoy/base/error.h"

namespace buoy {

std::optional<SamplerSettings> sampler_at(const SamplerSettings& settings, const StressLevel& level,
                                          const ModelConfig& config) {
  if (level.stressor->target != StressTarget::kSampler) return settings;
  if (config.family->sampler == SamplerKind::kAutoregressive) return std::nullopt;
  const SamplerKind kind = config.family->sampler;
  const bool dream = kind == SamplerKind::kDream, blocks = config.block > 0, llada = !dream && !blocks;
  const std::string_view stressor = level.stressor->name;
  const Index value = static_cast<Index>(level.value.value_or(0));
  const auto needs_no_threshold = [&](bool concerned) {
    if (concerned && !dream && settings.threshold) {
      fail_usage("{} has no effect with threshold {}: every level would be the same", level.name(),
                 *settings.threshold);
    }
  };
  SamplerSettings made = settings;
  if (stressor == "steps") {
    if (kind == SamplerKind::kFastDllm) return std::nullopt;
    needs_no_threshold(true);
    made.steps = value;
  } else if (stressor == "block-length") {
    if (dream) return std::nullopt;
    made.block_length = value;
  } else if (stressor == "trailing-masks") {
    if (blocks) return std::nullopt;  // no row sees a later block
    // As many tokens a step as before: what is measured is the masks, not the haste.
    const Index steps = settings.steps.value_or(settings.gen_length);
    made.gen_length += value;
    made.steps = (steps * made.gen_length + settings.gen_length - 1) / settings.gen_length;
  } else if (blocks) {
    return std::nullopt;  // the surest first, always
  } else if (llada) {
    if (level.text != "low_confidence" && level.text != "random") return std::nullopt;
    made.remasking = parse_remasking(level.text);
    needs_no_threshold(made.remasking == Remasking::kRandom);
  } else {
    made.alg = level.text == "low_confidence" ? DreamAlgorithm::kMaskgitPlus
               : level.text == "random"       ? DreamAlgorithm::kOrigin
                                              : parse_dream_algorithm(level.text);
  }
  if (!dream) check_settings(made, config);
  return made;
}

}  // namespace buoy
