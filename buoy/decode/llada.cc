// LLaDA's and A2D's sampler: blocks from left to right, a fixed quota of the surest masks a step.
#include <algorithm>
#include <bit>
#include <cmath>

#include "buoy/base/error.h"
#include "buoy/decode/finite_logits.h"
#include "buoy/decode/masked_diffusion.h"
#include "buoy/decode/masked_pass.h"
#include "buoy/decode/quota.h"
#include "buoy/io/half.h"

namespace buoy {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

Index count_blocks(const LladaOptions& o) {
  return (o.gen_length + o.block_length - 1) / o.block_length;
}

Index steps_of_block(const LladaOptions& o) {
  return (o.steps + count_blocks(o) - 1) / count_blocks(o);
}

struct LladaSampler {
  const Model& model;
  const LladaOptions& options;
  SampleStreams streams;

  // Plain greedy needs a summary of each row only; everything else looks at whole rows.
  bool needs_rows() const {
    return options.temperature > 0 || options.logits_eos_inf || options.confidence_eos_eot_inf;
  }

  Proposal propose(const MaskedSample& sample, Index position, std::vector<float>& row) const {
    const ModelConfig& config = model.config();
    const DrawKey key = draw_key(sample, position);
    const auto hide = [&](TokenId id) { row[static_cast<std::size_t>(id)] = kMinusInfinity; };
    if (options.logits_eos_inf) std::ranges::for_each(config.eos_ids, hide);
    TokenId token;
    if (options.temperature > 0) {
      token = gumbel_argmax(row, options.temperature, key);
    } else {
      token = static_cast<TokenId>(std::ranges::max_element(row) - row.begin());
    }
    if (options.confidence_eos_eot_inf) {
      // The public code hides EOS in the array the argmax was taken from, which is the logits only without
      // noise.
      if (options.temperature == 0) std::ranges::for_each(config.eos_ids, hide);
      if (config.end_of_turn) hide(*config.end_of_turn);
    }
    return {position, token,
            rank(sample, position, filtered_probabilities(row, {})[static_cast<std::size_t>(token)])};
  }

  double rank(const MaskedSample& sample, Index position, double probability) const {
    if (options.remasking == Remasking::kLowConfidence) return rounded(probability, options.confidence);
    return uniform(draw_key(sample, position), kConfidenceDraw);
  }

  DrawKey draw_key(const MaskedSample& sample, Index position) const {
    return {.seed = options.seed,
            .sample = streams.of(sample.number),
            .step = static_cast<std::uint32_t>(sample.generation->steps - 1),
            .position = static_cast<std::uint32_t>(position)};
  }

  // Proposals for every mask of every sample, from one pass.
  std::vector<std::vector<Proposal>> propose_all(std::span<MaskedSample> samples,
                                                 GenerationObserver* observer) const {
    const Tensor logits = run_masked_pass(model, samples, options.cfg_scale, observer);
    std::vector<std::vector<Proposal>> all(samples.size());
    std::vector<LogitSummary> summaries;
    if (!needs_rows()) summaries = model.backend().summarize(logits);
    std::vector<float> row(static_cast<std::size_t>(logits.cols()));
    Index r = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (const Index position : samples[i].masks) {
        const LogitPlace place{streams.of(samples[i].number), samples[i].generation, position};
        if (needs_rows()) {
          model.backend().download(logits.row_range(r, 1), row);
          check_finite(model, place, row);
          all[i].push_back(propose(samples[i], position, row));
        } else {
          const LogitSummary& s = summaries[static_cast<std::size_t>(r)];
          check_finite(model, place, s);
          all[i].push_back({position, s.best, rank(samples[i], position, s.probability)});
        }
        ++r;
      }
    }
    return all;
  }

  // What each step of a block may fill that has so many masks at its start. With a threshold there is no
  // quota, but a last step: a model that proposes the mask itself never fills it.
  std::vector<Index> quotas(Index masks, Index steps) const {
    if (options.threshold) return std::vector<Index>(static_cast<std::size_t>(masks), 0);
    if (options.quota == LladaQuota::kScheduled) return scheduled_quotas(masks, steps);
    std::vector<Index> all;
    for (Index i = 0; i < steps; ++i) all.push_back(even_quota(masks, steps, i));
    return all;
  }

  // What a step commits: everything above the threshold and at least the surest, or its quota. With a
  // threshold a block takes as many steps as it needs, so that there is no quota.
  std::vector<Proposal> select(std::vector<Proposal> proposals, Index quota) const {
    if (!options.threshold) return most_confident(std::move(proposals), quota);
    const Index sure = std::ranges::count_if(
        proposals, [&](const Proposal& p) { return p.confidence >= *options.threshold; });
    return most_confident(std::move(proposals), std::max<Index>(1, sure));
  }
};

// A batch on its way through the blocks.
struct LladaRun {
  const LladaSampler& sampler;
  GenerationObserver* observer;
  std::vector<Generation>& generations;
  std::vector<ApproximateCache> caches;
  std::vector<Index> block_steps;          // [samples] passes of a block to come
  Index b = 0;                             // the block at hand
  std::vector<std::vector<Index>> quotas;  // [samples] of its passes

  const LladaOptions& options() const { return sampler.options; }
  Index filled() const { return std::min(options().gen_length, (b + 1) * options().block_length); }

  void begin_block() {
    quotas.clear();
    for (std::size_t i = 0; i < generations.size(); ++i) {
      // The prompt's own masks are filled with the first block.
      const Generation& g = generations[i];
      const Index at_start =
          filled() - b * options().block_length + (b == 0 ? std::ssize(g.prompt_masks) : 0);
      quotas.push_back(sampler.quotas(at_start, block_steps[i]));
    }
  }

  // What someone changed: the masks that are left go over the steps that are left, or over the block's share
  // of those that are left from now on.
  void plan_again(std::size_t i, Index step, Index masks, const StepChange& change) {
    const Index blocks = count_blocks(options()) - b;
    Index steps = std::ssize(quotas[i]) - step;
    if (change.steps_left) {
      block_steps[i] = std::clamp<Index>(*change.steps_left / blocks, 1, options().block_length);
      steps = *change.steps_left - (blocks - 1) * block_steps[i];
    }
    steps = std::clamp<Index>(steps, 1, std::max<Index>(1, masks));
    quotas[i].resize(static_cast<std::size_t>(std::min(step, std::ssize(quotas[i]))));
    for (const Index quota : sampler.quotas(masks, steps)) quotas[i].push_back(quota);
  }

  // The samples that take part in the block's pass number `step`.
  std::vector<MaskedSample> samples_of(Index step) {
    std::vector<MaskedSample> samples;
    for (std::size_t i = 0; i < generations.size(); ++i) {
      Generation& g = generations[i];
      const StepChange change = change_masked(sampler.model, observer, static_cast<Index>(i), g);
      std::vector<Index> masks =
          masked_positions(g.tokens, *sampler.model.config().mask_id, g.prompt_length + filled());
      if (!change.empty()) plan_again(i, step, std::ssize(masks), change);
      if (masks.empty() || step >= std::ssize(quotas[i])) continue;
      samples.push_back({.number = static_cast<Index>(i),
                         .generation = &g,
                         .masks = std::move(masks),
                         .cache = caches.empty() ? nullptr : &caches[i],
                         .place = {.start = g.prompt_length + b * options().block_length,
                                   .end = g.prompt_length + filled(),
                                   .pass = step}});
    }
    return samples;
  }

  void run_step(std::span<MaskedSample> samples, Index step) {
    const auto proposals = sampler.propose_all(samples, observer);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      Generation& g = *samples[i].generation;
      if (observer != nullptr) observer->proposed(samples[i].number, proposals[i]);
      const Index quota = quotas[static_cast<std::size_t>(samples[i].number)][static_cast<std::size_t>(step)];
      for (const Proposal& p : sampler.select(proposals[i], quota))
        commit(g, p.position, p.token, p.confidence);
      if (observer != nullptr) observer->after_step(samples[i].number, g);
    }
  }
};

}  // namespace

double rounded(double confidence, ConfidenceType type) {
  if (type == ConfidenceType::kF64) return confidence;
  const auto single = static_cast<float>(confidence);
  if (type == ConfidenceType::kF32) return single;
  const auto bits = std::bit_cast<std::uint32_t>(single);
  const std::uint32_t even = (bits >> 16) & 1;
  return widen_bf16(static_cast<std::uint16_t>((bits + 0x7FFF + even) >> 16));
}

void check_options(const LladaOptions& o) {
  if (o.gen_length < 1) fail_usage("gen_length is {}, expected at least 1", o.gen_length);
  if (o.block_length < 1) fail_usage("block_length is {}, expected at least 1", o.block_length);
  const bool even = o.quota == LladaQuota::kEven;
  if (even && o.gen_length % o.block_length != 0) {
    fail_usage("gen_length {} does not divide by block_length {}", o.gen_length, o.block_length);
  }
  if (o.remasking == Remasking::kSequential) fail_usage("remasking sequential is SDAR's alone");
  const Index blocks = count_blocks(o);
  if (!o.threshold && o.steps < 1) fail_usage("steps is {}, expected at least 1", o.steps);
  if (!o.threshold && even && o.steps % blocks != 0) {
    fail_usage("steps {} do not divide by the {} blocks of gen_length {} / block_length {}", o.steps, blocks,
               o.gen_length, o.block_length);
  }
  if (!o.threshold && o.steps > o.gen_length) {
    fail_usage("steps is {}, more than the {} positions of gen_length: a step fills at least one", o.steps,
               o.gen_length);
  }
  if (o.threshold && !(*o.threshold > 0 && *o.threshold <= 1)) {
    fail_usage("threshold is {}, expected above 0, at most 1", *o.threshold);
  }
  if (!(o.cfg_scale >= 0) || std::isinf(o.cfg_scale))
    fail_usage("cfg_scale is {}, expected 0 or more", o.cfg_scale);
  check_sampling({.temperature = o.temperature});
  check_options(o.cache);
  if (o.cache.on() && o.cfg_scale > 0) {
    fail_usage("cache {} and cfg_scale {}: guidance has no cache", name_of(o.cache.kind), o.cfg_scale);
  }
}

std::vector<Generation> generate_llada(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                       const LladaOptions& options, GenerationObserver* observer,
                                       SampleStreams streams) {
  check_options(options);
  check(model.config().mask == Mask::kFull, "the LLaDA sampler runs models that see both ways");
  const TokenId mask = *model.config().mask_id;
  const LladaSampler sampler{model, options, streams};
  std::vector<Generation> generations;
  for (const auto& prompt : prompts)
    generations.push_back(start_masked_generation(prompt, options.gen_length, mask));
  LladaRun run{.sampler = sampler,
               .observer = observer,
               .generations = generations,
               .caches = make_caches(model, options.cache, generations),
               .block_steps = std::vector<Index>(generations.size(), steps_of_block(options))};
  for (run.b = 0; run.b < count_blocks(options); ++run.b) {
    run.begin_block();
    for (Index step = 0;; ++step) {
      std::vector<MaskedSample> samples = run.samples_of(step);
      if (samples.empty()) break;
      run.run_step(samples, step);
    }
  }
  return generations;
}

}  // namespace buoy
