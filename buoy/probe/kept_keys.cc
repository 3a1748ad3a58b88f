#include "buoy/probe/kept_keys.h"

#include <algorithm>
#include <cmath>

#include "buoy/base/at.h"
#include "buoy/base/error.h"

namespace buoy {

void KeptKeys::append_change(Index layer, const StepKeys& now, std::vector<float>& out) {
  const Index rows = now.heads * now.N;
  check(rows > 0 && std::ssize(now.keys) % rows == 0, "keys are [heads, N, D]");
  const Index D = std::ssize(now.keys) / rows;
  if (std::ssize(layers_) <= layer) layers_.resize(at(layer + 1));
  Layer& before = layers_[at(layer)];
  check(before.N == 0 || std::ssize(before.keys) == now.heads * before.N * D, "keys keep their size");
  for (Index j = 0; j < now.N; ++j) {
    double product = 0, length = 0, length_before = 0;
    for (Index h = 0; h < now.heads && j < before.N; ++h) {
      const float* a = now.keys.data() + (h * now.N + j) * D;
      const float* b = before.keys.data() + (h * before.N + j) * D;
      for (Index d = 0; d < D; ++d) {
        product += double{a[d]} * b[d];
        length += double{a[d]} * a[d];
        length_before += double{b[d]} * b[d];
      }
    }
    const double lengths = std::sqrt(length) * std::sqrt(length_before);
    // Rounding may take the cosine of equal keys past 1.
    out.push_back(lengths > 0 ? static_cast<float>(std::max(0.0, 1 - product / lengths)) : 0.0F);
  }
  before = {.keys = {now.keys.begin(), now.keys.end()}, .N = now.N};
}

}  // namespace buoy
