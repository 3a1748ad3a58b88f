// Concentration: over how many keys received attention spreads, head by head.
#pragma once

#include <span>

#include "buoy/analysis/measurement.h"

namespace buoy {

// Entropy in nats of non-negative `values` taken as shares of their sum, which is above 0.
double entropy_of(std::span<const double> values);

// Gini coefficient of non-negative `values` whose sum is above 0: 0 when all are equal, (n−1)/n when one has
// all.
double gini_of(std::span<const double> values);

// On the finished sequence, per layer and head, and with head -1 the mean over heads:
//   entropy          of received attention, nats
//   effective_share  exp(entropy) ÷ N
//   gini             of received attention
//   anchor_count     anchors of the head's own received attention
//   row_entropy      mean over rows, nats: a head that looks at its own position is flat in r and sharp here
// A head that receives nothing (all of it hidden by an intervention) is left out.
Measurements concentration(const Trace& trace, const AnalysisOptions& options);

}  // namespace buoy
