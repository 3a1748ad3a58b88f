// Rows of received attention out of a trace, each beside its null.
#pragma once

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

}  // namespace buoy
