// Dream's sampler: a falling noise level decides how many masks a step fills, anywhere in the sequence.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "buoy/base/error.h"
#include "buoy/decode/finite_logits.h"
#include "buoy/decode/masked_diffusion.h"
#include "buoy/decode/masked_pass.h"

namespace buoy {
namespace {

// torch.linspace(1, eps, steps + 1) in float32: from both ends towards the middle.
std::vector<float> noise_levels(Index steps, double eps) {
  const float start = 1.0f, end = static_cast<float>(eps);
  const float step = (end - start) / static_cast<float>(steps);
  std::vector<float> levels;
  for (Index i = 0; i <= steps; ++i) {
    levels.push_back(i < (steps + 1) / 2 ? start + step * static_cast<float>(i)
                                         : end - step * static_cast<float>(steps - i));
  }
  return levels;
}

std::vector<Index> generated_positions(const Generation& g) {
  std::vector<Index> positions(g.commit_step.size());
  std::iota(positions.begin(), positions.end(), g.prompt_length);
  return positions;
}

// A pass of a block, the `step`-th of `steps`.
struct StepOf {
  Index step, steps;
};

struct DreamSampler {
  const Model& model;
  const DreamOptions& options;
  SampleStreams streams;

  DrawKey draw_key(const MaskedSample& sample, Index position) const {
    return {.seed = options.seed,
            .sample = streams.of(sample.number),
            .step = static_cast<std::uint32_t>(sample.generation->steps - 1),
            .position = static_cast<std::uint32_t>(position)};
  }

  double confidence(std::span<const double> p, TokenId token) const {
    switch (options.alg) {
      case DreamAlgorithm::kTopkMargin: {
        double best = 0, second = 0;
        for (const double value : p) {
          if (value > best) {
            second = std::exchange(best, value);
          } else {
            second = std::max(second, value);
          }
        }
        return best - second;
      }
      case DreamAlgorithm::kEntropy: {
        double sum = 0;
        for (const double value : p) sum += value * std::log(value + 1e-10);
        return sum;
      }
      default:
        return p[static_cast<std::size_t>(token)];
    }
  }

  std::vector<Proposal> propose(const MaskedSample& sample, const Tensor& logits) const {
    std::vector<Proposal> proposals;
    std::vector<float> row(static_cast<std::size_t>(logits.cols()));
    for (Index r = 0; r < logits.rows(); ++r) {
      const Index position = sample.masks[static_cast<std::size_t>(r)];
      model.backend().download(logits.row_range(r, 1), row);
      check_finite(model, {streams.of(sample.number), sample.generation, position}, row);
      const std::vector<double> p = filtered_probabilities(row, options.sampling);
      const TokenId token =
          choose_token(p, options.sampling, uniform(draw_key(sample, position), kTokenDraw));
      proposals.push_back({position, token, confidence(p, token)});
    }
    return proposals;
  }

  // `count` positions drawn without replacement from softmax(confidence / alg_temp): the largest of ln p +
  // Gumbel.
  std::vector<Proposal> draw_positions(const MaskedSample& sample, std::vector<Proposal> proposals,
                                       Index count) const {
    std::vector<Proposal> keyed = proposals;
    for (std::size_t i = 0; i < keyed.size(); ++i) {
      const double u = uniform(draw_key(sample, keyed[i].position), kOrderDraw);
      keyed[i].confidence = keyed[i].confidence / options.alg_temp - std::log(-std::log(u));
    }
    std::vector<Proposal> drawn;
    for (const Proposal& chosen : most_confident(std::move(keyed), count)) {
      drawn.push_back(*std::ranges::find(proposals, chosen.position, &Proposal::position));
    }
    return drawn;
  }

  // p2: of all generated positions the least sure are masks after the step, fewer from step to step; those
  // that were masks and are not among them take what was proposed, the others keep their token.
  void keep_surest(Generation& g, std::vector<Proposal> proposals, const StepOf& at_step) const {
    const TokenId mask = *model.config().mask_id;
    const double left = 1 - static_cast<double>(at_step.step + 1) / static_cast<double>(at_step.steps);
    const auto open = static_cast<std::size_t>(static_cast<double>(proposals.size()) * left);
    std::ranges::stable_sort(proposals, {}, &Proposal::confidence);
    for (std::size_t i = 0; i < proposals.size(); ++i) {
      const Proposal& p = proposals[i];
      TokenId& token = g.tokens[static_cast<std::size_t>(p.position)];
      if (i < open) {
        token = mask;
        g.commit_step[static_cast<std::size_t>(p.position - g.prompt_length)] = kNotCommitted;
      } else if (token == mask) {
        commit(g, p.position, p.token, p.confidence);
      }
    }
  }

  std::vector<Proposal> select(const MaskedSample& sample, std::vector<Proposal> proposals, float flip,
                               bool last_step) const {
    if (options.alg == DreamAlgorithm::kOrigin) {
      std::erase_if(proposals, [&](const Proposal& p) {
        return !last_step && uniform(draw_key(sample, p.position), kFlipDraw) >= flip;
      });
      return proposals;
    }
    const Index masks = std::ssize(proposals);
    const Index count = last_step ? masks : static_cast<Index>(static_cast<float>(masks) * flip);
    if (options.alg_temp > 0) return draw_positions(sample, std::move(proposals), count);
    return most_confident(std::move(proposals), count);
  }

  // The share of masks that a pass fills.
  float flip_of(const StepOf& at_step) const {
    const std::vector<float> levels = noise_levels(at_step.steps, options.eps);
    const auto i = static_cast<std::size_t>(at_step.step);
    return 1.0f - levels[i + 1] / levels[i];
  }

  // One pass of a block, its number `step`, of `steps` for each sample, and what it fills.
  void run_step(std::span<MaskedSample> samples, Index step, std::span<const Index> steps,
                GenerationObserver* observer) const {
    const Tensor logits = run_masked_pass(model, samples, 0, observer);
    Index row = 0;
    for (MaskedSample& sample : samples) {
      const StepOf at_step{step, steps[static_cast<std::size_t>(sample.number)]};
      Generation& g = *sample.generation;
      const Index masks = std::ssize(sample.masks);
      std::vector<Proposal> proposals = propose(sample, logits.row_range(row, masks));
      row += masks;
      if (observer != nullptr) observer->proposed(sample.number, proposals);
      if (options.alg == DreamAlgorithm::kP2) {
        keep_surest(g, std::move(proposals), at_step);
      } else {
        const bool last = at_step.step + 1 == at_step.steps;
        for (const Proposal& p : select(sample, std::move(proposals), flip_of(at_step), last)) {
          commit(g, p.position, p.token, p.confidence);
        }
      }
      if (observer != nullptr) observer->after_step(sample.number, g);
    }
  }
};

}  // namespace

void check_options(const DreamOptions& o) {
  if (o.gen_length < 1) fail_usage("gen_length is {}, expected at least 1", o.gen_length);
  if (o.steps < 1) fail_usage("steps is {}, expected at least 1", o.steps);
  if (!(o.eps > 0 && o.eps < 1)) fail_usage("eps is {}, expected between 0 and 1", o.eps);
  if (!(o.alg_temp >= 0) || std::isinf(o.alg_temp))
    fail_usage("alg_temp is {}, expected 0 or more", o.alg_temp);
  check_sampling(o.sampling);
  check_options(o.cache);
  if (o.cache.on() && o.alg == DreamAlgorithm::kP2) {
    fail_usage("cache {} and alg p2: what may be taken back is not kept", name_of(o.cache.kind));
  }
  if (o.block_length < 0) fail_usage("block_length is {}, expected at least 1", o.block_length);
  if (o.block_length == 0) return;
  if (o.alg == DreamAlgorithm::kP2) fail_usage("block_length and alg p2: p2 looks at the whole answer");
  if (o.gen_length % o.block_length != 0) {
    fail_usage("gen_length {} does not divide by block_length {}", o.gen_length, o.block_length);
  }
  const Index blocks = o.gen_length / o.block_length;
  if (o.steps % blocks != 0) {
    fail_usage("steps {} do not divide by the {} blocks of gen_length {} / block_length {}", o.steps, blocks,
               o.gen_length, o.block_length);
  }
}

std::vector<Generation> generate_dream(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                       const DreamOptions& options, GenerationObserver* observer,
                                       SampleStreams streams) {
  check_options(options);
  check(model.config().family->sampler == SamplerKind::kDream, "the Dream sampler runs Dream models");
  const TokenId mask = *model.config().mask_id;
  const DreamSampler sampler{model, options, streams};
  std::vector<Generation> generations;
  for (const auto& prompt : prompts)
    generations.push_back(start_masked_generation(prompt, options.gen_length, mask));

  std::vector<ApproximateCache> caches = make_caches(model, options.cache, generations);
  const Index B = options.block_length > 0 ? options.block_length : options.gen_length;
  const Index steps = options.steps * B / options.gen_length;
  // Of each sample, as if it had been so from the block's first pass on.
  std::vector<Index> block_steps(generations.size(), steps);
  for (Index start = 0; start < options.gen_length; start += B) {
    const Index blocks = (options.gen_length - start) / B;
    std::vector<Index> steps_here = block_steps;
    for (Index step = 0;; ++step) {
      std::vector<MaskedSample> samples;
      for (std::size_t i = 0; i < generations.size(); ++i) {
        Generation& g = generations[i];
        const BlockPlace place{
            .start = g.prompt_length + start, .end = g.prompt_length + start + B, .pass = step};
        const StepChange change = change_masked(model, observer, static_cast<Index>(i), g);
        std::vector<Index> masks = masked_positions(g.tokens, mask, place.end);
        if (change.steps_left) {
          block_steps[i] = std::max<Index>(1, *change.steps_left / blocks);
          steps_here[i] = step + std::max<Index>(1, *change.steps_left - (blocks - 1) * block_steps[i]);
        }
        if (!change.empty()) steps_here[i] = std::max(steps_here[i], step + 1);
        if (masks.empty() || step >= steps_here[i]) continue;
        if (options.alg == DreamAlgorithm::kP2) masks = generated_positions(g);
        samples.push_back({.number = static_cast<Index>(i),
                           .generation = &g,
                           .masks = std::move(masks),
                           .cache = caches.empty() ? nullptr : &caches[i],
                           .place = place});
      }
      if (samples.empty()) break;
      sampler.run_step(samples, step, steps_here, observer);
    }
  }
  return generations;
}

}  // namespace buoy
