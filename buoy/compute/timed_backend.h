// A backend that times another's operations one by one.
#pragma once

#include <map>
#include <string>

#include "buoy/compute/backend.h"

namespace buoy {

// Every operation waits for the one before, so the times add up to more than a pass takes. Halves of layers
// run operation by operation, but for the second half of layers with experts, which may be fused. `inner`
// must outlive it; weights are shared with it.
class TimedBackend : public Backend {
 public:
  struct Cost {
    Index calls = 0;
    double seconds = 0;
  };

  explicit TimedBackend(Backend& inner) : inner_(inner) {}
  const std::map<std::string, Cost>& costs() const { return costs_; }

  std::string_view name() const override { return inner_.name(); }
  Tensor allocate(Index rows, Index cols) override { return inner_.allocate(rows, cols); }
  Tensor allocate_activations(Index rows, Index cols) override {
    return inner_.allocate_activations(rows, cols);
  }
  void upload(std::span<const float> from, const Tensor& to) override { inner_.upload(from, to); }
  void download(const Tensor& from, std::span<float> to) override { inner_.download(from, to); }
  std::unique_ptr<Linear> make_linear(std::span<const TensorView> weights,
                                      std::span<const TensorView> biases) override {
    return inner_.make_linear(weights, biases);
  }
  Tensor make_table(const TensorView& table) override { return inner_.make_table(table); }
  Tensor make_vector(const TensorView& vector) override { return inner_.make_vector(vector); }

  void embed(const Tensor& table, std::span<const TokenId> ids, const Tensor& out) override;
  void rms_norm(const Tensor& x, const Tensor& weight, float epsilon, const Tensor& out) override;
  void linear(const Tensor& x, const Linear& weights, Store store, const Tensor& y) override;
  void head_norm(const Tensor& x, const RmsNorm& norm, Index D) override;
  void clip(const Tensor& x, float bound, float factor) override;
  void rope(const Tensor& x, Index D, std::span<const Index> positions, const RopeTable& table) override;
  void swiglu(const Tensor& gate_up, const Tensor& out) override;
  void gather_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override;
  void scatter_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override;
  void add_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override;
  void add_scaled_rows(const Tensor& x, std::span<const float> factors, std::span<const Index> rows,
                       const Tensor& out) override;
  void attention(const AttentionArgs& args, const Tensor& out) override;
  void convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                const Tensor& out) override;
  void ssd(const SsdArgs& args, const Tensor& out) override;
  void leave_layer(const LayerOutput& layer, const Tensor& mixed, const Tensor& x) override;
  void settle() override;
  void guide(const Tensor& conditional, const Tensor& unconditional, float scale) override;
  std::vector<LogitSummary> summarize(const Tensor& logits) override;
  void synchronize() override { inner_.synchronize(); }
  Index take_peak_bytes() override { return inner_.take_peak_bytes(); }

 private:
  template <class Body>
  auto timed(const std::string& what, const Body& body);

  Backend& inner_;
  std::map<std::string, Cost> costs_;
};

}  // namespace buoy
