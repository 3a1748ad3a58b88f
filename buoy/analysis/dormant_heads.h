// Dormant heads: heads that put their attention on one key and carry next to nothing from it.
#pragma once

#include "buoy/analysis/measurement.h"

namespace buoy {

inline constexpr double kDormantSinkShare = 0.5;
inline constexpr double kDormantDrain = 0.2;

// On the finished sequence, per layer and head:
//   sink_share  the largest received attention of a key
//   drain       mean_i ‖Σ_j A_ij v_j‖ ÷ mean_j ‖v_j‖; not where all values are empty
//   dormant     1 when sink_share > 0.5 and drain < 0.2, else 0; only with drain
Measurements dormant_heads(const Trace& trace, const AnalysisOptions& options);

}  // namespace buoy
