// Salience: does attention favour the same tokens from step to step, and can they be named cheaply?
#pragma once

#include "buoy/analysis/measurement.h"

namespace buoy {

// Per layer, over the recorded steps; beside each part the same over writing steps alone, "mean writing" or,
// beside "", "writing". A step counts as writing when it commits a token of the answer; the change from a
// step to the next counts as of the first. Top keys and agreement are those of top_keys.h.
//   peak_spread           deviation, over steps, of the position of the largest excess, ÷ the final N; part
//                         "read", "all": which rows. At least two steps whose row is not flat
//   top_kept              agreement of a step's top keys with those of the next, mean over pairs of steps;
//                         part "mean" (averaged over heads, all rows), "head" (of each head, mean over heads;
//                         where heads were recorded) and "fixed" (the rows that are read at both
//                         steps; 1 by construction where rows stay as they were computed)
//   proxy_recall          agreement of the top keys, all rows, with those by column mean score, each score
//                         the largest of itself and its neighbours; part "lag 0": of the same step, "lag 1":
//                         scores of a step, keys of the next
//   mask_query_agreement  among the prompt's keys, agreement of the top keys by all rows with those by the
//                         read rows; part "". Models whose rows are computed anew
Measurements salience(const Trace& trace, const AnalysisOptions& options);

}  // namespace buoy
