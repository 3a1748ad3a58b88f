// Direct flow: where the rows that wrote the answer looked, in the very pass that wrote it.
#pragma once

#include "buoy/analysis/measurement.h"

namespace buoy {

// Rows: those that wrote a token of the answer, its EOS not among them. Attention is averaged over heads.
// Nothing where the trace does not hold their mass on the regions, or no such row wrote. Per layer, mean over
// the rows:
// - direct_per_token: attention into a passage ÷ its tokens; part "Answer>Doc3" for every passage with
//   positions
// - direct_passages: the same, mean over the gold passages and over the others; part "gold", "other"
// - direct_gold_lift: gold ÷ others of direct_passages. Under uniform attention it is 1: a row that writes
//   sees every passage whole. Nothing where others receive nothing
// - direct_gold_log: ln of it, which has a mean where others receive next to nothing. Nothing where gold
//   receives nothing
// Over all recorded layers:
// - question_trend: least-squares slope of the attention into the question, mean over layers, against the
//   step that wrote, from 0 (the first of these rows) to 1 (the last). At least three different steps
// - near_far: ln(attention per token into the passages of the last third of the places ÷ of the first), gold
//   left out on both sides, mean over layers in which both receive some; place p of n is of third ⌊3(p−1)/n⌋
Measurements direct_flow(const Trace& trace);

}  // namespace buoy
