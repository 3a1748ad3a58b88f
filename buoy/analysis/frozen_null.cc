// The frozen null: an example whose attention stays what it was at the first step.
#include <algorithm>

#include "buoy/analysis/null_model.h"
#include "buoy/analysis/received.h"
#include "buoy/probe/trace_arrays.h"

namespace buoy {
namespace {

// Whether a step and the next one have rows in common that were read at both.
bool has_staying(const Trace& trace, Index t) {
  const auto rows = row_of(trace.steps.received_staying, t, trace.L() * trace.N());
  return std::ranges::any_of(rows, [](float share) { return share != 0; });
}

}  // namespace

std::optional<Trace> frozen_trace(const Trace& trace) {
  const StepRecord& measured = trace.steps;
  const bool recorded = has_steps(trace) && !measured.received_frozen.empty() &&
                        !measured.received_staying.empty() && trace.header.rows == PassRows::kAnew;
  if (!recorded) return std::nullopt;
  Trace frozen = trace;
  drop_routing(frozen);
  for (const TraceArray& array : trace_arrays()) {
    if (!array.shape.starts_with("SL")) continue;  // only what is measured layer by layer
    array.visit(frozen, [&](auto& values) {
      const Index each = std::ssize(values) / trace.S();
      Index first = 0;  // where blocks follow each other, of the block at hand
      for (Index t = 1; t < trace.S(); ++t) {
        if (measured.lengths[t] != measured.lengths[t - 1]) first = t;
        std::copy_n(values.begin() + first * each, each, values.begin() + t * each);
      }
    });
  }
  frozen.steps.received_read = frozen.steps.received_frozen = measured.received_frozen;
  const Index each = trace.L() * trace.N();
  std::ranges::fill(frozen.steps.received_staying, 0.0F);
  for (Index t = 0; t + 1 < trace.S(); ++t) {
    if (!has_staying(trace, t)) continue;
    std::copy_n(measured.received_frozen.begin() + (t + 1) * each, each,
                frozen.steps.received_staying.begin() + t * each);
  }
  return frozen;
}

}  // namespace buoy
