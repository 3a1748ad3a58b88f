// Region flow: how attention passes between the parts of a sequence, rolled out over the layers.
#pragma once

#include <span>
#include <vector>

#include "buoy/analysis/measurement.h"

namespace buoy {

// kSum: all attention into a region counts, so long regions win. kPerToken: it is divided by the region's
// length first. kPaper: as kSum, between the regions that the paper's script has: the template's words are in
// none, the Tail belongs to Answer.
enum class Pooling { kSum, kPerToken, kPaper };

// "sum", "per-token", "paper".
std::string_view name_of(Pooling pooling);

// Flow between the regions that have positions; row a is where the attention of region a ends up and adds up
// to 1.
struct RegionFlow {
  std::vector<Index> regions;  // [K] numbers in trace.regions, ascending
  std::vector<double> share;   // [K, K]
};

// `layers` holds P of each layer from the lowest on, [L, K, K] with rows that add up to 1. Each becomes A' =
// (P + I) with rows normalised; the result is A'_L … A'_1, again with rows normalised. K is small: this is no
// N×N.
std::vector<double> rollout(std::span<const double> layers, Index K);

// The finished sequence's flow, rolled out over its recorded layers.
RegionFlow region_flow(const Trace& trace, Pooling pooling);

// On the finished sequence:
//   flow_sum, flow_per_token, flow_paper  rolled out, with part "Answer>Doc1" for every pair of regions that
//                                         have positions
// and, for samples with both gold and other documents, with part "sum", "per-token" and "paper" where rolled
// out:
//   gold_lift       mean flow from Answer into a gold document ÷ mean flow into another, divided by the same
//   ratio under
//                   uniform attention. Means on both sides, so that two golds do not count double
//   gold_top        1 when a gold document receives the most flow from Answer. Documents that tie share it:
//   the null is
//                   chance, not the luck of the first
//   rollout_sensitivity  what gold_lift becomes when Answer sends all its attention to the gold documents,
//                        evenly over their tokens, in every layer, and all else stays as measured. Nothing
//                        where no flow is left for the other documents
//   layer_sensitivity    the same, per layer: in this layer alone
//   answer_to_gold  per layer, no part: that ratio in the layer's own flow, under `sum`, not divided by
//   anything
// and, on the passes that wrote the answer, all of direct_flow.h.
Measurements flow(const Trace& trace, const AnalysisOptions& options);

}  // namespace buoy
