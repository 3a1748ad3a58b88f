#include "buoy/analysis/qk.h"

#include <cmath>

#include "buoy/analysis/mean.h"
#include "buoy/analysis/received.h"

namespace buoy {
namespace {

std::vector<char> membership(std::span<const Index> group, Index N) {
  std::vector<char> inside(N);
  for (const Index j : group) inside[j] = 1;
  return inside;
}

// Mean over the group − mean over the others.
double advantage(std::span<const float> values, std::span<const char> inside) {
  Mean a, b;
  for (std::size_t j = 0; j < values.size(); ++j) (inside[j] ? a : b).add(values[j]);
  return a.value() - b.value();
}

struct Sums {
  Mean score, cosine, norm, total, angle, scale;
  Mean third;    // covariance, or recency
  Mean recency;  // advantage
};

// Both kinds of parts.
void add_parts(Sums& sums, const auto& parts, double third) {
  sums.total.add(parts.total);
  sums.angle.add(parts.angle);
  sums.scale.add(parts.scale);
  sums.third.add(third);
}

// Of one head, `row` counting layers and heads.
ScoreFactors factors_of(const Trace& trace, Index row) {
  const FinishedRecord& finished = trace.finished;
  const Index N = trace.N();
  return {.scores = row_of(finished.score_means, row, N),
          .norms = row_of(finished.norm_means, row, N),
          .cosines = row_of(finished.cosine_means, row, N),
          .recencies = finished.recency_means.empty() ? std::span<const float>()
                                                      : row_of(finished.recency_means, row, N)};
}

void emit_layer(Measurements& out, Index layer, MixerKind mixer, const Sums& sums) {
  const bool ssd = mixer == MixerKind::kSsd;
  const char* part = ssd ? "ssd" : "";
  const auto mean = [&](const char* quantity, const Mean& of) {
    emit(out, {.quantity = quantity, .layer = layer, .part = part}, of);
  };
  mean("delta_score", sums.score);
  mean("delta_cosine", sums.cosine);
  mean("delta_norm", sums.norm);
  if (ssd) mean("delta_recency", sums.recency);
  mean("attribution_angle", sums.angle);
  mean("attribution_scale", sums.scale);
  mean(ssd ? "attribution_recency" : "attribution_covariance", sums.third);
  mean("attribution_total", sums.total);
  const auto share = [&](const char* quantity, const Mean& of) {
    if (sums.total.sum == 0) return;
    out.push_back(
        {.quantity = quantity, .layer = layer, .part = part, .value = of.sum, .weight = sums.total.sum});
  };
  share("angle_share", sums.angle);
  share("scale_share", sums.scale);
  share(ssd ? "recency_share" : "covariance_share", sums.third);
}

}  // namespace

Attribution attribute(std::span<const float> scores, std::span<const float> key_norms,
                      std::span<const Index> group) {
  const std::vector<char> inside = membership(group, std::ssize(scores));
  std::vector<double> direction(scores.size());
  Mean score[2], length[2], heading[2];  // of the others, of the group
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const int g = inside[j];
    direction[j] = key_norms[j] > 0 ? static_cast<double>(scores[j]) / key_norms[j] : 0;
    score[g].add(key_norms[j] * direction[j]);
    length[g].add(key_norms[j]);
    heading[g].add(direction[j]);
  }
  Mean covariance[2];
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const int g = inside[j];
    covariance[g].add((key_norms[j] - length[g].value()) * (direction[j] - heading[g].value()));
  }
  const double mid_length = (length[0].value() + length[1].value()) / 2;
  const double mid_direction = (heading[0].value() + heading[1].value()) / 2;
  return {.total = score[1].value() - score[0].value(),
          .angle = mid_length * (heading[1].value() - heading[0].value()),
          .scale = mid_direction * (length[1].value() - length[0].value()),
          .covariance = covariance[1].value() - covariance[0].value()};
}

std::optional<LogAttribution> attribute_logs(const ScoreFactors& f, std::span<const Index> group) {
  const std::vector<char> inside = membership(group, std::ssize(f.scores));
  Mean angle[2], scale[2], recency[2];  // of the others, of the group
  for (std::size_t j = 0; j < f.scores.size(); ++j) {
    if (!(f.norms[j] > 0 && f.cosines[j] > 0 && f.recencies[j] > 0)) continue;
    const int g = inside[j];
    angle[g].add(std::log(double{f.cosines[j]}));
    scale[g].add(std::log(double{f.norms[j]}));
    recency[g].add(std::log(double{f.recencies[j]}));
  }
  if (angle[0].empty() || angle[1].empty()) return std::nullopt;
  LogAttribution parts{.angle = angle[1].value() - angle[0].value(),
                       .scale = scale[1].value() - scale[0].value(),
                       .recency = recency[1].value() - recency[0].value()};
  parts.total = parts.angle + parts.scale + parts.recency;
  return parts;
}

Measurements qk(const Trace& trace, const AnalysisOptions& options) {
  Measurements out;
  const Index N = trace.N(), H = trace.H();
  for (Index l = 0; l < trace.L(); ++l) {
    const std::vector<Index> anchors = finished_received(trace, l).anchors(options.anchors);
    if (anchors.empty() || std::ssize(anchors) == N) continue;
    const std::vector<char> inside = membership(anchors, N);
    Sums sums;
    for (Index h = 0; h < H; ++h) {
      const ScoreFactors f = factors_of(trace, l * H + h);
      sums.score.add(advantage(f.scores, inside));
      sums.cosine.add(advantage(f.cosines, inside));
      sums.norm.add(advantage(f.norms, inside));
      if (trace.mixer(l) == MixerKind::kSsd) {
        sums.recency.add(advantage(f.recencies, inside));
        if (const auto parts = attribute_logs(f, anchors)) add_parts(sums, *parts, parts->recency);
      } else {
        const auto key_norms = row_of(trace.finished.key_norms, l * trace.Hkv() + key_head_of(trace, h), N);
        const Attribution parts = attribute(f.scores, key_norms, anchors);
        add_parts(sums, parts, parts.covariance);
      }
    }
    emit_layer(out, trace.layers[l], trace.mixer(l), sums);
  }
  return out;
}

}  // namespace buoy
