// Temporal drift: do anchors stay where they are from step to step and from layer to layer?
#pragma once

#include <optional>
#include <vector>

#include "buoy/analysis/measurement.h"
#include "buoy/analysis/null_model.h"

namespace buoy {

// The anchors of one step and layer, on received attention averaged over heads.
struct AnchorSet {
  std::vector<Index> positions;  // ascending
  std::optional<double> centre;  // mean position weighted by excess, see anchor_centre()
  Index peak = -1;               // position of the largest excess; -1: the row is flat
};

// [S · L]: the set of recorded step t and layer l is at t·L + l. Empty when the steps' received attention was
// not recorded.
std::vector<AnchorSet> anchor_sets(const Trace& trace, const AnchorOptions& options, Rows rows);

// Per layer, with part "read" (rows whose logits were read) and "all" (all rows), over all recorded steps;
// with "read writing" and "all writing" over those that write (is_writing). A change from a step to the next
// recorded one counts as of the first of the two.
//   turnover           1 − Jaccard of the sets of consecutive steps, mean over the pairs that are not both
//                      empty; nothing where all are
//   both_empty         share of all pairs in which both sets are empty
//   float_index        the same as turnover, of this layer and the next recorded one, mean over steps
//   float_both_empty   as both_empty, of the pairs of float_index
//   lifetime           mean number of consecutive steps (writing ones) for which a position stays an anchor
//   drift_per_step     least-squares slope of the centre against the pass number, in positions; steps without
//                      a centre are left out, two are needed
//   drift_relative     that slope ÷ the final N
//   first_token_share  share of steps whose largest excess is at position 0; a flat row has no largest
//   sink_share         share of steps in which that first token is an anchor as well
//   anchor_count       mean number of anchors
// With "fixed" and "fixed writing" only turnover and both_empty, each pair of steps over the rows that are
// read at both (still_received): there the set of rows cannot move an anchor.
// A single step has no turnover, both_empty, lifetime and drift.
// Of no layer: steps, how many were recorded, and writing_steps, how many of them wrote.
Measurements drift(const Trace& trace, const AnalysisOptions& options);

}  // namespace buoy
