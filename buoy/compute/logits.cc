#include "buoy/compute/logits.h"

#include <cmath>
#include <limits>

namespace buoy {

LogitSummary summarize_row(std::span<const float> logits) {
  LogitSummary summary;
  float best = -std::numeric_limits<float>::infinity(), second = best;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > best) {
      second = best;
      best = logits[i];
      summary.best = static_cast<TokenId>(i);
    } else if (logits[i] > second) {
      second = logits[i];
    }
  }
  double total = 0, weighted = 0;
  for (const float logit : logits) {
    const double x = double{logit} - best;
    if (x < -745.0) continue;  // exp underflows to 0
    const double e = std::exp(x);
    total += e;
    weighted += e * x;
  }
  summary.probability = 1.0 / total;
  summary.margin = (1.0 - std::exp(double{second} - best)) / total;
  summary.entropy = std::log(total) - weighted / total;
  return summary;
}

void guide_row(const Tensor& conditional, const Tensor& unconditional, float scale, Index r) {
  float* c = conditional.row<float>(r);
  const float* u = unconditional.row<float>(r);
  for (Index i = 0; i < conditional.cols(); ++i) c[i] = u[i] + (scale + 1.0f) * (c[i] - u[i]);
}

}  // namespace buoy
