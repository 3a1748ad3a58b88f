// QK decomposition: are anchors attractive by the direction of their keys or by their length?
#pragma once

#include <optional>
#include <span>

#include "buoy/analysis/measurement.h"

namespace buoy {

// How much higher the mean score of one group of keys is than that of the others, split exactly:
// total = angle + scale + covariance.
struct Attribution {
  double total = 0;       // Δs
  double angle = 0;       // κ̄·Δg: what the directions explain
  double scale = 0;       // ḡ·Δκ: what the lengths explain
  double covariance = 0;  // cov_a − cov_b of length and direction within the groups
};

// scores[j] = s_j, the column mean score of key j; key_norms[j] = κ_j, its length; g_j = s_j ÷ κ_j, 0 where
// κ_j is 0. `group` holds ascending positions: some, but not all.
Attribution attribute(std::span<const float> scores, std::span<const float> key_norms,
                      std::span<const Index> group);

// The same of a state space layer, where score = norm·cosine·recency exactly: differences of mean logarithms
// over the keys that receive anything, total = angle + scale + recency.
struct LogAttribution {
  double total = 0, angle = 0, scale = 0, recency = 0;
};
struct ScoreFactors {
  std::span<const float> scores, norms, cosines, recencies;  // [N] each
};
// Nothing where one of the two sides receives nothing.
std::optional<LogAttribution> attribute_logs(const ScoreFactors& factors, std::span<const Index> group);

// On the finished sequence, per layer; anchors are those of received attention averaged over heads. Nothing
// for a layer with no anchors or with nothing but anchors.
//   delta_score, delta_cosine, delta_norm                 mean over anchors − mean over other keys, mean over
//   heads attribution_angle, …_scale, …_covariance, …_total     the parts of Δs, mean over heads angle_share,
//   scale_share, covariance_share            Σ part ÷ Σ Δs, both over heads: value and weight
// Of state space layers all have the part "ssd", since their unit is another, so that no mean over layers
// mixes the two; the parts are those of attribute_logs(): attribution_recency and recency_share stand in the
// place of …covariance, and delta_recency beside the others.
Measurements qk(const Trace& trace, const AnalysisOptions& options);

}  // namespace buoy
