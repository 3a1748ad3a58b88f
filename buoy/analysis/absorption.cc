#include "buoy/analysis/absorption.h"

#include <algorithm>
#include <numeric>

#include "buoy/analysis/mean.h"
#include "buoy/analysis/received.h"

namespace buoy {
namespace {

struct Absorption {
  Mean bos, anchors, top1;
};

// Adds what the anchors of `received`, position 0 and the strongest key take of `mass`, which adds up to 1.
void add_shares(Absorption& to, const Received& received, std::span<const double> mass,
                const AnchorOptions& options) {
  double anchors = 0;
  for (const Index j : received.anchors(options)) anchors += mass[j];
  to.bos.add(100 * mass[0]);
  to.anchors.add(100 * anchors);
  to.top1.add(100 * *std::ranges::max_element(mass));
}

// Mean over heads of r_j·‖v_j‖ with sum 1; empty when no head carries anything.
std::vector<double> value_weighted(const Trace& trace, Index l) {
  const Index N = trace.N();
  std::vector<double> mean(N);
  Index heads = 0;
  for (Index h = 0; h < trace.H(); ++h) {
    const auto received = row_of(trace.finished.received, l * trace.H() + h, N);
    const auto norms = row_of(trace.finished.value_norms, l * trace.Hkv() + key_head_of(trace, h), N);
    const double total = std::inner_product(received.begin(), received.end(), norms.begin(), 0.0);
    if (total <= 0) continue;
    ++heads;
    for (Index j = 0; j < N; ++j) mean[j] += static_cast<double>(received[j]) * norms[j] / total;
  }
  if (heads == 0) return {};
  for (double& share : mean) share /= static_cast<double>(heads);
  return mean;
}

// How much longer the values of the anchors are than those of the other keys, as a share; mean over key heads
// whose other values are not all empty.
Mean value_lead(const Trace& trace, Index l, std::span<const Index> anchors) {
  Mean lead;
  const Index N = trace.N();
  if (anchors.empty() || std::ssize(anchors) == N) return lead;
  for (Index kv = 0; kv < trace.Hkv(); ++kv) {
    const auto norms = row_of(trace.finished.value_norms, l * trace.Hkv() + kv, N);
    Mean inside;
    for (const Index j : anchors) inside.add(norms[j]);
    const double outside = std::accumulate(norms.begin(), norms.end(), 0.0) - inside.sum;
    const double others = outside / static_cast<double>(N - inside.n);
    if (others > 0) lead.add(inside.value() / others - 1);
  }
  return lead;
}

}  // namespace

Measurements absorption(const Trace& trace, const AnalysisOptions& options) {
  Measurements out;
  const bool with_steps = trace.header.rows == PassRows::kAnew && has_steps(trace);
  for (Index l = 0; l < trace.L(); ++l) {
    const auto add = [&](const char* part, const Absorption& found) {
      const Index layer = trace.layers[l];
      emit(out, {.quantity = "absorb_bos", .layer = layer, .part = part}, found.bos);
      emit(out, {.quantity = "absorb_anchors", .layer = layer, .part = part}, found.anchors);
      emit(out, {.quantity = "absorb_top1", .layer = layer, .part = part}, found.top1);
    };
    const Received received = finished_received(trace, l);
    Absorption finished, weighted, steps;
    add_shares(finished, received, received.share, options.anchors);
    add("finished", finished);
    const std::vector<double> carried = value_weighted(trace, l);
    if (!carried.empty()) add_shares(weighted, received, carried, options.anchors);
    add("value-weighted", weighted);
    for (Index t = 0; with_steps && t < trace.S(); ++t) {
      const Received now = step_received(trace, t, l, Rows::kAll);
      add_shares(steps, now, now.share, options.anchors);
    }
    add("steps", steps);
    emit(out, {.quantity = "anchor_value_lead", .layer = trace.layers[l]},
         value_lead(trace, l, received.anchors(options.anchors)));
  }
  return out;
}

}  // namespace buoy
