#include "buoy/analysis/received.h"

#include "buoy/base/error.h"

namespace buoy {

std::span<const float> row_of(std::span<const float> array, Index row, Index n) {
  check(row >= 0 && n >= 0 && (row + 1) * n <= std::ssize(array),
        "the trace holds the row that is asked for");
  return array.subspan(row * n, n);
}

Index key_head_of(const Trace& trace, Index h) {
  return h / (trace.H() / trace.Hkv());
}

Received finished_received(const Trace& trace, Index l) {
  const Index N = trace.N(), H = trace.H();
  Received out{.share = std::vector<double>(N), .null = uniform_received(trace.header.mask, Rows::kAll, N)};
  for (Index h = 0; h < H; ++h) {
    const auto row = row_of(trace.finished.received, l * H + h, N);
    for (Index j = 0; j < N; ++j) out.share[j] += row[j];
  }
  for (double& share : out.share) share /= static_cast<double>(H);
  return out;
}

Received finished_received(const Trace& trace, Index l, Index h) {
  const auto row = row_of(trace.finished.received, l * trace.H() + h, trace.N());
  return {.share = {row.begin(), row.end()},
          .null = uniform_received(trace.header.mask, Rows::kAll, trace.N())};
}

bool has_steps(const Trace& trace) {
  return !trace.steps.received.empty() && !trace.steps.received_read.empty();
}

Received step_received(const Trace& trace, Index t, Index l, Rows rows) {
  const auto& array = rows == Rows::kAll ? trace.steps.received : trace.steps.received_read;
  const Index length = trace.steps.lengths[t];
  const auto row = row_of(array, t * trace.L() + l, trace.N()).first(length);
  return {.share = {row.begin(), row.end()}, .null = uniform_received(trace.header.mask, rows, length)};
}

}  // namespace buoy
