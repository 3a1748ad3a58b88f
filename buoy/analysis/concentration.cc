#include "buoy/analysis/concentration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "buoy/analysis/mean.h"
#include "buoy/analysis/received.h"

namespace buoy {
namespace {

struct Entry {
  const char* quantity;
  double value;
};

}  // namespace

double entropy_of(std::span<const double> values) {
  const double total = std::accumulate(values.begin(), values.end(), 0.0);
  double entropy = 0;
  for (const double value : values) {
    if (value > 0) entropy -= value / total * std::log(value / total);
  }
  return entropy;
}

double gini_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double n = static_cast<double>(sorted.size());
  double total = 0, weighted = 0;
  for (Index i = 0; i < std::ssize(sorted); ++i) {
    total += sorted[i];
    weighted += (static_cast<double>(2 * i + 1) - n) * sorted[i];
  }
  return weighted / (n * total);
}

Measurements concentration(const Trace& trace, const AnalysisOptions& options) {
  Measurements out;
  for (Index l = 0; l < trace.L(); ++l) {
    const Index layer = trace.layers[l];
    std::array<Mean, 5> means;
    std::array<const char*, 5> names{};
    for (Index h = 0; h < trace.H(); ++h) {
      const Received received = finished_received(trace, l, h);
      if (std::accumulate(received.share.begin(), received.share.end(), 0.0) <= 0) continue;
      const double entropy = entropy_of(received.share);
      const std::array<Entry, 5> entries = {{
          {"entropy", entropy},
          {"effective_share", std::exp(entropy) / static_cast<double>(trace.N())},
          {"gini", gini_of(received.share)},
          {"anchor_count", static_cast<double>(received.anchors(options.anchors).size())},
          {"row_entropy", trace.finished.row_entropy[l * trace.H() + h]},
      }};
      for (std::size_t i = 0; i < entries.size(); ++i) {
        names[i] = entries[i].quantity;
        means[i].add(entries[i].value);
        out.push_back({.quantity = names[i], .layer = layer, .head = h, .value = entries[i].value});
      }
    }
    for (std::size_t i = 0; i < means.size(); ++i) {
      if (!means[i].empty()) emit(out, {.quantity = names[i], .layer = layer}, means[i]);
    }
  }
  return out;
}

}  // namespace buoy
