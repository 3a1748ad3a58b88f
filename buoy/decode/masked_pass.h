// What the two masked samplers share: finding masks, one batched pass over them, picking the surest.
#pragma once

#include <span>
#include <vector>

#include "buoy/decode/approximate_cache.h"
#include "buoy/decode/generation.h"
#include "buoy/model/model.h"

namespace buoy {

// One sample's part in a step.
struct MaskedSample {
  Index number = 0;  // which prompt
  Generation* generation = nullptr;
  std::vector<Index> masks;           // positions that may be filled now
  ApproximateCache* cache = nullptr;  // null: every row is computed
  BlockPlace place = {};              // of the pass; for the cache alone
};

// Positions in [0, end) that hold the mask.
std::vector<Index> masked_positions(std::span<const TokenId> tokens, TokenId mask, Index end);

// Logits of every sample's masks, in order, [Σ masks, V], one pass. With cfg_scale > 0 a second sequence with
// the prompt masked rides along for each sample; not beside a cache. Counts the step. Throws UsageError where
// someone watches or changes a pass with a cache: a trace has every row of every pass.
Tensor run_masked_pass(const Model& model, std::span<MaskedSample> samples, double cfg_scale,
                       GenerationObserver* observer);

// Asks the observer, which may be null, what to change before a sample's next step, and does it. Returns what
// was changed.
StepChange change_masked(const Model& model, GenerationObserver* observer, Index sample,
                         Generation& generation);

// The `count` most confident, lowest position first among equals; fewer when there are fewer.
std::vector<Proposal> most_confident(std::vector<Proposal> proposals, Index count);

}  // namespace buoy
