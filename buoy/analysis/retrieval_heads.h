// Retrieval heads: which heads look at the evidence while the answer is written?
#pragma once

#include "buoy/analysis/measurement.h"

namespace buoy {

// Per layer and head, over answer tokens: generated positions of the region Answer that are no EOS or padding
// and whose row was recorded, each seen through the row that produced it, at the step that committed it.
//   copy     distinct answer tokens that the head copied (its largest weight lies on that token in the
//   evidence)
//            ÷ distinct answer tokens that occur in the evidence; only where there is one
//   copy_wu  the same numerator ÷ the number of evidence positions
//   mass     mean weight on the evidence
//   lift     mass ÷ chance; chance is the mean over answer tokens of |evidence| ÷ keys that the row could see
// Part "all"; once more with part "correct" when the sample was answered correctly. Nothing without evidence
// or without answer tokens.
Measurements retrieval_heads(const Trace& trace, const AnalysisOptions& options);

}  // namespace buoy
