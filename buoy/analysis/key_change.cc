#include "buoy/analysis/key_change.h"

#include <algorithm>

#include "buoy/analysis/mean.h"
#include "buoy/analysis/received.h"
#include "buoy/analysis/top_keys.h"

namespace buoy {
namespace {

// The changes of one layer, from pass to pass.
struct KeyChanges {
  struct Change {
    Index pass = 0;  // to which
    std::span<const float> of;
    std::vector<Index> top;  // ascending
  };
  std::vector<Change> changes;
};

KeyChanges changes_of(const Trace& trace, Index l) {
  KeyChanges out;
  for (Index t = 1; t < trace.S(); ++t) {
    if (trace.steps.steps[t] != trace.steps.steps[t - 1] + 1) continue;
    const Received received = step_received(trace, t - 1, l, Rows::kAll);
    const auto top = top_keys(received.share, received.null);
    if (!top) continue;
    const Index length = std::min(received.size(), trace.steps.lengths[t]);
    out.changes.push_back({.pass = trace.steps.steps[t],
                           .of = row_of(trace.steps.key_change, t * trace.L() + l, trace.N()).first(length),
                           .top = top->positions});
  }
  return out;
}

// Of the token at `position`, which pass `committed` wrote.
std::optional<double> settling(const KeyChanges& layer, Index position, Index committed) {
  std::optional<double> first;
  Mean later;
  for (const KeyChanges::Change& change : layer.changes) {
    if (position >= std::ssize(change.of) || change.pass <= committed) continue;
    if (change.pass == committed + 1) {
      first = change.of[position];
    } else {
      later.add(change.of[position]);
    }
  }
  if (!first || later.empty()) return std::nullopt;
  return *first - later.value();
}

}  // namespace

Measurements key_change(const Trace& trace, const AnalysisOptions&) {
  Measurements out;
  if (trace.steps.key_change.empty() || !has_steps(trace)) return out;
  for (Index l = 0; l < trace.L(); ++l) {
    const KeyChanges layer = changes_of(trace, l);
    Mean all, top, rest, settled;
    for (const KeyChanges::Change& change : layer.changes) {
      for (Index j = 0; j < std::ssize(change.of); ++j) {
        all.add(change.of[j]);
        (std::ranges::binary_search(change.top, j) ? top : rest).add(change.of[j]);
      }
    }
    for (Index g = 0; g < trace.G(); ++g) {
      const Index position = trace.prompt_length + g;
      const RegionKind kind = trace.regions.regions[trace.regions.of[position]].kind;
      if (kind != RegionKind::kAnswer || trace.classes[position] == TokenClass::kEosPad) continue;
      if (const auto one = settling(layer, position, trace.commit_step[g])) settled.add(*one);
    }
    const auto add = [&](const char* part, const Mean& mean) {
      emit(out, {.quantity = "key_change", .layer = trace.layers[l], .part = part}, mean);
    };
    add("", all);
    add("top", top);
    add("rest", rest);
    add("settling", settled);
  }
  return out;
}

}  // namespace buoy
