// Hands each sequence of a batch to its recorder.
#include <algorithm>

#include "buoy/base/at.h"
#include "buoy/probe/recorder.h"

namespace buoy {

Tap::Plan RecorderTap::plan(Index layer, Index sequence) {
  if (sequence >= std::ssize(recorders)) return {};
  return {.request = recorders[at(sequence)]->request(layer)};
}

Tap::Next RecorderTap::measured(Index layer, Index sequence, const AttentionStats& stats) {
  recorders[at(sequence)]->measured(layer, stats);
  return Next::kGoOn;
}

bool RecorderTap::wants_routing() const {
  return std::ranges::any_of(recorders, &Recorder::wants_routing);
}

void RecorderTap::routed(Index layer, Index sequence, const RoutedRows& routed) {
  if (sequence < std::ssize(recorders)) recorders[at(sequence)]->routed(layer, routed);
}

}  // namespace buoy
