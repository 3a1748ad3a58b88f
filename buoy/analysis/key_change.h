// Key change: how far keys turn from one pass to the next, and whether they come to rest.
#pragma once

#include "buoy/analysis/measurement.h"

namespace buoy {

// key_change, per layer: 1 − cosine of a key and itself one pass before, from pass to pass where both were
// recorded and attention was not flat at the first of them; nothing where keys were not recorded. With part
//   ""          mean over keys and passes
//   "top"       mean over the tenth of the keys that received most attention (all rows) at the first of the
//   two passes "rest"      mean over the others "settling"  of tokens of the answer (not its EOS): the change
//   at the pass after the one that committed the token, the
//               first that reads it, − the mean of its changes later; mean over tokens that have both
Measurements key_change(const Trace& trace, const AnalysisOptions& options);

}  // namespace buoy
