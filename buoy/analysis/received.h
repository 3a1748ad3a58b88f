// Rows of received attention out of a trace, each beside its null.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "buoy/analysis/anchors.h"
#include "buoy/analysis/null_model.h"
#include "buoy/probe/trace.h"

namespace buoy {

// One entry per position that existed.
struct Received {
  std::vector<double> share;  // adds up to 1
  std::vector<double> null;

  Index size() const { return std::ssize(share); }
  std::vector<Index> anchors(const AnchorOptions& options) const {
    return find_anchors(share, null, options);
  }
};

// Row `row` of an array [.., n]. Throws InternalError when the array is too short.
std::span<const float> row_of(std::span<const float> array, Index row, Index n);

// The key head whose keys and values query head h reads.
Index key_head_of(const Trace& trace, Index h);

// On the finished pass: mean over heads, or of one head. l counts the recorded layers.
Received finished_received(const Trace& trace, Index l);
Received finished_received(const Trace& trace, Index l, Index h);

// Before recorded step t, mean over heads; lengths[t] positions. Only where has_steps().
bool has_steps(const Trace& trace);
Received step_received(const Trace& trace, Index t, Index l, Rows rows);

// What keys receive at recorded steps t and t + 1 from the same rows, those that are read at both, so that
// only attention can differ; l counts the recorded layers, t + 1 < S. Of a model whose rows add up: from the
// rows of step t, which stay as they were computed, so both are the same by construction. Nothing where no
// row stays (a block begins) and where the trace does not have it.
struct StillRows {
  Received before, after;
};
std::optional<StillRows> still_received(const Trace& trace, Index t, Index l);

}  // namespace buoy
