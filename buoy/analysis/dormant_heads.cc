#include "buoy/analysis/dormant_heads.h"

#include <algorithm>
#include <numeric>

#include "buoy/analysis/received.h"

namespace buoy {

Measurements dormant_heads(const Trace& trace, const AnalysisOptions&) {
  Measurements out;
  const Index N = trace.N(), H = trace.H();
  for (Index head = 0; head < trace.L() * H; ++head) {
    const Index l = head / H, h = head % H;
    const auto add = [&](const char* quantity, double value) {
      out.push_back({.quantity = quantity, .layer = trace.layers[l], .head = h, .value = value});
    };
    const double sink = *std::ranges::max_element(row_of(trace.finished.received, head, N));
    add("sink_share", sink);
    const auto norms = row_of(trace.finished.value_norms, l * trace.Hkv() + key_head_of(trace, h), N);
    const double mean_norm = std::accumulate(norms.begin(), norms.end(), 0.0) / static_cast<double>(N);
    if (mean_norm <= 0) continue;
    const double drain = trace.finished.output_norm[head] / mean_norm;
    add("drain", drain);
    add("dormant", sink > kDormantSinkShare && drain < kDormantDrain ? 1 : 0);
  }
  return out;
}

}  // namespace buoy
