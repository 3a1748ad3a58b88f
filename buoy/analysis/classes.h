// Structure and content: what kinds of token receive attention, and how that changes with depth.
#pragma once

#include "buoy/analysis/measurement.h"

namespace buoy {

// Received attention averaged over heads, all rows. Each comes twice: of the finished sequence ("finished")
// and as the mean over the recorded steps ("steps"), where a mask is a mask until it is filled. Per layer,
// with part "finished:CLASS" and "steps:CLASS", CLASS as name_of(TokenClass) says:
//   class_share   share of received attention on the class
//   class_lift    that share ÷ the class's share of positions; only where (for steps: when) the class has
//   positions anchor_class  share of the anchors' received attention on the class; only where there are
//   anchors
// Per layer, with part "finished" and "steps":
//   structural_lift, content_lift  lift of all structural classes together, and of content
// Of the sample (layer -1), with the same parts:
//   structural_contrast, content_contrast  mean lift in the shallow third of the recorded layers − in the
//   deep third; a
//                                          third is ⌊L/3⌋ layers, at least one. Not for a single layer
Measurements classes(const Trace& trace, const AnalysisOptions& options);

}  // namespace buoy
