#include "buoy/decode/masked_pass.h"

#include <algorithm>

#include "buoy/base/error.h"

namespace buoy {

std::vector<Index> masked_positions(std::span<const TokenId> tokens, TokenId mask, Index end) {
  std::vector<Index> positions;
  for (Index p = 0; p < end; ++p) {
    if (tokens[static_cast<std::size_t>(p)] == mask) positions.push_back(p);
  }
  return positions;
}

namespace {

// All rows, or those that the sample's cache leaves to be computed.
ForwardSequence sequence_of(MaskedSample& sample, std::span<const Index> read_rows) {
  const Generation& g = *sample.generation;
  if (sample.cache == nullptr) return {.ids = g.tokens, .read_rows = read_rows};
  sample.cache->plan(g.tokens, sample.place, g.just_committed, read_rows);
  return sample.cache->sequence(g.tokens, read_rows);
}

}  // namespace

Tensor run_masked_pass(const Model& model, std::span<MaskedSample> samples, double cfg_scale,
                       GenerationObserver* observer) {
  const Index shift = model.config().family->logit_shift;
  const bool guided = cfg_scale > 0;
  std::vector<std::vector<Index>> rows(samples.size());
  std::vector<std::vector<TokenId>> unconditional(guided ? samples.size() : 0);
  std::vector<ForwardSequence> sequences;
  std::vector<GenerationObserver::Pass> passes;
  Index total = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (const Index p : samples[i].masks) rows[i].push_back(std::max<Index>(0, p - shift));
    total += std::ssize(rows[i]);
    sequences.push_back(sequence_of(samples[i], rows[i]));
    passes.push_back({.sample = samples[i].number,
                      .generation = samples[i].generation,
                      .tokens = samples[i].generation->tokens,
                      .read_positions = rows[i]});
  }
  for (std::size_t i = 0; i < unconditional.size(); ++i) {
    const Generation& g = *samples[i].generation;
    unconditional[i] = g.tokens;
    std::fill_n(unconditional[i].begin(), g.prompt_length, *model.config().mask_id);
    // What the model wrote into the prompt counts as written, not as given.
    for (const Index p : g.prompt_masks)
      unconditional[i][static_cast<std::size_t>(p)] = g.tokens[static_cast<std::size_t>(p)];
    sequences.push_back({.ids = unconditional[i], .read_rows = rows[i]});
  }
  Tap* tap = begin_pass(observer, passes);
  const auto caches = [](const MaskedSample& s) { return s.cache != nullptr; };
  const bool cached = std::ranges::any_of(samples, caches);
  check(!cached || !guided, "guidance has no cache");
  if (tap != nullptr && cached) {
    fail_usage(
        "a pass with an approximate cache can be neither recorded nor changed; buoy audit measures it");
  }
  const Tensor logits = model.forward(sequences, tap);
  for (MaskedSample& sample : samples) {
    ++sample.generation->steps;
    sample.generation->just_committed.clear();
  }
  if (!guided) return logits;
  const Tensor conditional = logits.row_range(0, total);
  model.backend().guide(conditional, logits.row_range(total, total), static_cast<float>(cfg_scale));
  return conditional;
}

StepChange change_masked(const Model& model, GenerationObserver* observer, Index sample,
                         Generation& generation) {
  if (observer == nullptr) return {};
  StepChange change = observer->before_step(sample, generation);
  apply_change(change,
               {.first = generation.prompt_length,
                .end = std::ssize(generation.tokens),
                .V = model.config().V,
                .mask = model.config().mask_id},
               generation);
  return change;
}

std::vector<Proposal> most_confident(std::vector<Proposal> proposals, Index count) {
  std::ranges::stable_sort(proposals,
                           [](const Proposal& a, const Proposal& b) { return a.confidence > b.confidence; });
  proposals.resize(static_cast<std::size_t>(std::clamp<Index>(count, 0, std::ssize(proposals))));
  return proposals;
}

}  // namespace buoy
