// What tests of goldens share: rounding as a pass in bf16 rounds, and nothing else.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/compute/testing.h"
#include "buoy/compute/timed_backend.h"
#include "buoy/model/transformer.h"

namespace buoy {

// A golden's model whose weights have the bits that bf16 keeps, everything else in float32. The backend must
// outlive it.
class RoundedModel {
 public:
  RoundedModel(const std::filesystem::path& directory, Backend& backend)
      : checkpoint_(Checkpoint::open(directory)),
        model_(
            read_model_config(directory), [this](std::string_view name) { return find(name); }, backend) {}
  const Transformer& model() const { return model_; }

 private:
  TensorView find(std::string_view name) {
    const TensorView given = *checkpoint_.find(name);
    check(given.dtype == DType::kF32, "the goldens are float32");
    std::vector<float> values(static_cast<std::size_t>(element_count(given.shape)));
    std::memcpy(values.data(), given.bytes.data(), given.bytes.size());
    const auto& kept = rounded_[std::string(name)] = testing_support::rounded_to_bf16(std::move(values));
    return {DType::kF32, given.shape, std::as_bytes(std::span(kept))};
  }

  Checkpoint checkpoint_;
  std::map<std::string, std::vector<float>, std::less<>> rounded_;
  Transformer model_;
};

// The reference with activations that keep the bits of bf16 between operations, as the card's do; the
// residual stream, scores of routers and logits stay float32. With a seed every value is first moved by at
// most a quarter of bf16's last place, as another order of summing may. Only for whole passes: what was
// allocated is kept.
class RoundingBackend : public TimedBackend {
 public:
  explicit RoundingBackend(Backend& reference, std::uint32_t seed = 0)
      : TimedBackend(reference), moves_(seed != 0), random_(seed) {}

  Tensor allocate_activations(Index rows, Index cols) override {
    return activations_.emplace_back(TimedBackend::allocate_activations(rows, cols));
  }
  void rms_norm(const Tensor& x, const Tensor& weight, float epsilon, const Tensor& out) override {
    TimedBackend::rms_norm(x, weight, epsilon, out);
    round(out);
  }
  void linear(const Tensor& x, const Linear& weights, Store store, const Tensor& y) override {
    TimedBackend::linear(x, weights, store, y);
    round(y);
  }
  void head_norm(const Tensor& x, const RmsNorm& norm, Index D) override {
    TimedBackend::head_norm(x, norm, D);
    round(x);
  }
  void clip(const Tensor& x, float bound, float factor) override {
    TimedBackend::clip(x, bound, factor);
    round(x);
  }
  void rope(const Tensor& x, Index D, std::span<const Index> positions, const RopeTable& table) override {
    TimedBackend::rope(x, D, positions, table);
    round(x);
  }
  void swiglu(const Tensor& gate_up, const Tensor& out) override {
    TimedBackend::swiglu(gate_up, out);
    round(out);
  }
  void attention(const AttentionArgs& args, const Tensor& out) override {
    TimedBackend::attention(args, out);
    round(out);
  }
  void leave_layer(const LayerOutput& layer, const Tensor& mixed, const Tensor& x) override {
    Backend::leave_layer(layer, mixed, x);  // operation by operation
  }

 private:
  void round(const Tensor& tensor) {
    const float* first = tensor.row<float>(0);
    const auto holds = [&](const Tensor& t) {
      return first >= t.row<float>(0) && first < t.row<float>(0) + t.rows() * t.stride();
    };
    if (std::ranges::none_of(activations_, holds)) return;
    for (Index r = 0; r < tensor.rows(); ++r) {
      const std::span<float> row(tensor.row<float>(r), static_cast<std::size_t>(tensor.cols()));
      if (moves_) {
        for (float& value : row) value *= 1 + (static_cast<float>(random_()) * 0x1p-31f - 1) * 0x1p-10f;
      }
      std::ranges::copy(testing_support::rounded_to_bf16({row.begin(), row.end()}), row.begin());
    }
  }

  bool moves_;
  std::mt19937 random_;
  std::vector<Tensor> activations_;
};

}  // namespace buoy
