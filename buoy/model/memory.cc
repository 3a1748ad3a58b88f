#include "buoy/model/memory.h"

#include <unistd.h>

namespace buoy {

MemoryNeeds estimate_memory(const ModelConfig& c, const WeightReport& weights, Index tokens) {
  constexpr Index kFloat = 4;
  const Index Q = c.H * c.D, KV = c.Hkv * c.D;
  const Index projections = c.L * (c.E * (Q + 2 * KV) + Q * c.E + 3 * c.E * c.F) + c.V * c.E;
  // x, normed, qkv, attended, gate and up, gated; logits of every row at the end.
  const Index row = 2 * c.E + (Q + 2 * KV) + Q + 3 * c.F + c.V;
  MemoryNeeds needs;
  needs.tokens = tokens;
  needs.mapped_bytes = weights.bytes;
  needs.widened_bytes = kFloat * projections;
  needs.activation_bytes = kFloat * row * tokens;
  needs.cache_bytes = c.family->cache == Cache::kAppend ? kFloat * 2 * c.L * KV * tokens : 0;
  return needs;
}

Widen choose_widening(const MemoryNeeds& needs) {
  return needs.widened_bytes <= physical_memory() / 2 ? Widen::kOnce : Widen::kAsUsed;
}

Index physical_memory() {
  return Index{sysconf(_SC_PHYS_PAGES)} * Index{sysconf(_SC_PAGE_SIZE)};
}

}  // namespace buoy
