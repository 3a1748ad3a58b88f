// Anchors (floating tokens): the keys that receive far more attention than the others.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// With r the received attention of a row, r⁰ that of the null model and e = r − r⁰:
enum class AnchorRule {
  kExcess,  // e_j > ε·std(e) and r_j ≥ λ·r⁰_j
  kSigma,   // r_j > mean(r) + ε·std(r)
  kOffset,  // r_j > mean of the others + ε; the largest column where none passes
  kTopK,    // the k largest r_j
};

// "excess", "sigma", "offset", "topk".
std::string_view name_of(AnchorRule rule);
std::optional<AnchorRule> parse_anchor_rule(std::string_view name);

struct AnchorOptions {
  AnchorRule rule = AnchorRule::kExcess;
  double epsilon = 3;   // all rules but kTopK
  double min_lift = 2;  // λ of kExcess: what stands out of a nearly flat row is no anchor for that
  Index k = 5;          // kTopK
};

// Deviations below kFlat/N are rounding: such a row is flat.
inline constexpr double kFlat = 1e-6;

// Ascending positions of the anchors of one row. `received` and `null` have one entry per position and each
// add up to
// 1. Standard deviations are those of the population. kExcess finds nothing in a flat excess; neither does
// kSigma in a flat row, so that the two agree wherever the null is constant. Equals go to the lowest
// position. Throws UsageError for an epsilon or min_lift that is negative or no number and for k < 1.
std::vector<Index> find_anchors(std::span<const double> received, std::span<const double> null,
                                const AnchorOptions& options);

// Position of the largest excess, the lowest among equals; -1 where the excess is flat and has no largest.
Index largest_excess(std::span<const double> received, std::span<const double> null);

// Mean of `positions` weighted by their excess (what is below 0 counts 0). Nothing when there are none, or
// when their excess is no more than rounding.
std::optional<double> anchor_centre(std::span<const double> received, std::span<const double> null,
                                    std::span<const Index> positions);

// Says so when rows of N positions are too short for any column to pass: no value of N lies more than √(N−1)
// standard deviations from the mean.
std::optional<std::string> anchor_warning(const AnchorOptions& options, Index N);

}  // namespace buoy
