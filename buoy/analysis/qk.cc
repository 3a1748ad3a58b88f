#include "buoy/analysis/qk.h"

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
  Mean score, cosine, norm, total, angle, scale, covariance;
};

void emit_layer(Measurements& out, Index layer, const Sums& sums) {
  const auto mean = [&](const char* quantity, const Mean& of) {
    emit(out, {.quantity = quantity, .layer = layer}, of);
  };
  mean("delta_score", sums.score);
  mean("delta_cosine", sums.cosine);
  mean("delta_norm", sums.norm);
  mean("attribution_angle", sums.angle);
  mean("attribution_scale", sums.scale);
  mean("attribution_covariance", sums.covariance);
  mean("attribution_total", sums.total);
  const auto share = [&](const char* quantity, const Mean& part) {
    if (sums.total.sum == 0) return;
    out.push_back({.quantity = quantity, .layer = layer, .value = part.sum, .weight = sums.total.sum});
  };
  share("angle_share", sums.angle);
  share("scale_share", sums.scale);
  share("covariance_share", sums.covariance);
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

Measurements qk(const Trace& trace, const AnalysisOptions& options) {
  Measurements out;
  const Index N = trace.N(), H = trace.H();
  const FinishedRecord& finished = trace.finished;
  for (Index l = 0; l < trace.L(); ++l) {
    const std::vector<Index> anchors = finished_received(trace, l).anchors(options.anchors);
    if (anchors.empty() || std::ssize(anchors) == N) continue;
    const std::vector<char> inside = membership(anchors, N);
    Sums sums;
    for (Index h = 0; h < H; ++h) {
      const auto scores = row_of(finished.score_means, l * H + h, N);
      const auto key_norms = row_of(finished.key_norms, l * trace.Hkv() + key_head_of(trace, h), N);
      const Attribution parts = attribute(scores, key_norms, anchors);
      sums.score.add(advantage(scores, inside));
      sums.cosine.add(advantage(row_of(finished.cosine_means, l * H + h, N), inside));
      sums.norm.add(advantage(row_of(finished.norm_means, l * H + h, N), inside));
      sums.total.add(parts.total);
      sums.angle.add(parts.angle);
      sums.scale.add(parts.scale);
      sums.covariance.add(parts.covariance);
    }
    emit_layer(out, trace.layers[l], sums);
  }
  return out;
}

}  // namespace buoy
