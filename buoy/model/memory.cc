#include "buoy/model/memory.h"

#include <algorithm>

#include <unistd.h>

namespace buoy {

MemoryNeeds estimate_memory(const ModelConfig& c, const WeightReport& weights, Index tokens) {
  constexpr Index kFloat = 4;
  const Index Q = c.H * c.D, KV = c.Hkv * c.D;
  // Values, B, C and gates of a state space mixer.
  const Index ssd_columns = c.ssd ? Q + 2 * c.H * c.ssd->n + 3 * c.H : 0;
  Index projections = c.V * c.E, idle = 0;
  for (Index l = 0; l < c.L; ++l) {
    const LayerShape shape = c.layer(l);
    projections += Q * c.E + c.E * (shape.mixer == MixerKind::kSsd ? ssd_columns : Q + 2 * KV);
    if (shape.feed_forward == FeedForwardKind::kSwiglu) {
      projections += 3 * c.E * c.mlp(l);
      continue;
    }
    const ExpertShape& experts = *c.experts;
    projections += c.E * experts.count + 3 * c.E * (experts.count * experts.F + experts.shared_F);
    idle += 3 * c.E * (experts.count - experts.rule.active) * experts.F;
  }
  // Of experts a row has one at a time, in and out, and the scores of all.
  const Index expert_row = c.experts ? 2 * c.E + 3 * c.experts->F + c.experts->count : 0;
  const Index widest = std::max({c.F, c.experts ? c.experts->shared_F : 0, c.ssd ? c.ssd->F : 0});
  // What is projected, the same after convolution, and what is normed after mixing.
  const Index ssd_row = c.ssd ? 2 * ssd_columns + Q : 0;
  // x, normed, qkv, attended, gate and up, gated; logits of every row at the end.
  const Index row = 2 * c.E + (Q + 2 * KV) + Q + 3 * widest + expert_row + ssd_row + c.V;
  MemoryNeeds needs;
  needs.tokens = tokens;
  needs.mapped_bytes = weights.bytes;
  needs.widened_bytes = kFloat * projections;
  needs.activation_bytes = kFloat * row * tokens;
  needs.active_parameters = weights.parameters - idle;
  needs.cache_bytes = c.family->cache != Cache::kNone ? kFloat * 2 * c.L * KV * tokens : 0;
  return needs;
}

Widen choose_widening(const MemoryNeeds& needs) {
  return needs.widened_bytes <= physical_memory() / 2 ? Widen::kOnce : Widen::kAsUsed;
}

Index physical_memory() {
  return Index{sysconf(_SC_PHYS_PAGES)} * Index{sysconf(_SC_PAGE_SIZE)};
}

}  // namespace buoy
