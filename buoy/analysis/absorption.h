// Absorption: how much of all attention a few keys take.
#pragma once

#include "buoy/analysis/measurement.h"

namespace buoy {

// Per layer, in percent of all attention, averaged over heads:
//   absorb_bos      by position 0
//   absorb_anchors  by the anchors together
//   absorb_top1     by the key that takes most
// with part
//   "finished"        on the finished sequence
//   "value-weighted"  there, each key counted by what it carries: r_j·‖v_j‖, normalised per head, then
//   averaged. The
//                     anchors are still those of r, so that a sink with an empty value is seen to carry
//                     nothing; top1 is the key that carries most. Heads whose values are all empty are left
//                     out
//   "steps"           mean over the recorded steps, each with its own anchors; masked models only
// and, with no part, on the finished sequence:
//   anchor_value_lead  mean ‖v_j‖ of the anchors ÷ of the other keys − 1, mean over key heads; negative where
//                      anchors carry little. Nothing without anchors
Measurements absorption(const Trace& trace, const AnalysisOptions& options);

}  // namespace buoy
