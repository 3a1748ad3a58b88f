#include "buoy/compute/timed_backend.h"

#include <chrono>

#include <fmt/format.h>

namespace buoy {

template <class Body>
auto TimedBackend::timed(const std::string& what, const Body& body) {
  struct Clock {
    Backend& backend;
    Cost& cost;
    std::chrono::steady_clock::time_point start;
    ~Clock() {
      backend.synchronize();
      ++cost.calls;
      cost.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  };
  inner_.synchronize();
  const Clock clock{inner_, costs_[what], std::chrono::steady_clock::now()};
  return body();
}

void TimedBackend::embed(const Tensor& table, std::span<const TokenId> ids, const Tensor& out) {
  timed("embed", [&] { inner_.embed(table, ids, out); });
}

void TimedBackend::rms_norm(const Tensor& x, const Tensor& weight, float epsilon, const Tensor& out) {
  timed("rms norm", [&] { inner_.rms_norm(x, weight, epsilon, out); });
}

void TimedBackend::linear(const Tensor& x, const Linear& weights, Store store, const Tensor& y) {
  timed(fmt::format("linear {}→{}", weights.inputs(), weights.outputs()),
        [&] { inner_.linear(x, weights, store, y); });
}

void TimedBackend::head_norm(const Tensor& x, const RmsNorm& norm, Index D) {
  timed("head norm", [&] { inner_.head_norm(x, norm, D); });
}

void TimedBackend::clip(const Tensor& x, float bound, float factor) {
  timed("clip", [&] { inner_.clip(x, bound, factor); });
}

void TimedBackend::rope(const Tensor& x, Index D, std::span<const Index> positions, const RopeTable& table) {
  timed("rope", [&] { inner_.rope(x, D, positions, table); });
}

void TimedBackend::swiglu(const Tensor& gate_up, const Tensor& out) {
  timed("swiglu", [&] { inner_.swiglu(gate_up, out); });
}

void TimedBackend::gather_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) {
  timed("gather rows", [&] { inner_.gather_rows(x, rows, out); });
}

void TimedBackend::scatter_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) {
  timed("scatter rows", [&] { inner_.scatter_rows(x, rows, out); });
}

void TimedBackend::add_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) {
  timed("add rows", [&] { inner_.add_rows(x, rows, out); });
}

void TimedBackend::add_scaled_rows(const Tensor& x, std::span<const float> factors,
                                   std::span<const Index> rows, const Tensor& out) {
  timed("add scaled rows", [&] { inner_.add_scaled_rows(x, factors, rows, out); });
}

void TimedBackend::attention(const AttentionArgs& args, const Tensor& out) {
  timed("attention", [&] { inner_.attention(args, out); });
}

void TimedBackend::leave_layer(const LayerOutput& layer, const Tensor& mixed, const Tensor& x) {
  if (std::holds_alternative<SwigluMlp>(layer.feed_forward)) return Backend::leave_layer(layer, mixed, x);
  timed("output and experts", [&] { inner_.leave_layer(layer, mixed, x); });
}

void TimedBackend::convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                            const Tensor& out) {
  timed("convolve", [&] { inner_.convolve(x, convolution, lengths, out); });
}

void TimedBackend::ssd(const SsdArgs& args, const Tensor& out) {
  timed("ssd", [&] { inner_.ssd(args, out); });
}

void TimedBackend::settle() {
  timed("settle", [&] { inner_.settle(); });
}

void TimedBackend::guide(const Tensor& conditional, const Tensor& unconditional, float scale) {
  timed("guide", [&] { inner_.guide(conditional, unconditional, scale); });
}

std::vector<LogitSummary> TimedBackend::summarize(const Tensor& logits) {
  return timed("summarize", [&] { return inner_.summarize(logits); });
}

}  // namespace buoy
