// Experts: whether rows spread over them evenly, and whether a token keeps its own from pass to pass.
#pragma once

#include "buoy/analysis/measurement.h"

namespace buoy {

// Per layer with experts, from the rows that went through them; nothing where no routing was recorded. With k
// of E experts a row and chance k/E, agreement is (share of experts in common − chance) ÷ (1 − chance).
//   expert_load            part "finished", one number for each expert, which stands in place of the head:
//   its
//                          rows ÷ what even routing would give it
//   expert_load_entropy    "finished": entropy of the load ÷ ln E
//   expert_weight_entropy  "finished": entropy of a row's weights ÷ ln k, mean over rows
//   expert_agreement       of two rows of the same pass, mean over pairs: "finished" any two; at the steps
//                          (mean over them) "masks", "words", and "masks and words" one of each
//   expert_overlap         of a position with itself one pass later, mean over positions and passes: "masks"
//                          and "words" that stay what they are, "written" where a mask became a word
// The null of each is uniform routing, in closed form: every row draws k of the E experts, all alike.
Measurements experts(const Trace& trace, const AnalysisOptions& options);

// E[entropy of the load] ÷ ln E when each of `rows` draws `active` of `count` experts at random without
// repetition; count ≥ 2. The same where draws keep to groups of equal size: only an expert's own chance
// counts.
double uniform_load_entropy(Index rows, Index active, Index count);

}  // namespace buoy
