// The transformer of all four families.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "buoy/io/safetensors.h"
#include "buoy/model/model.h"

namespace buoy {

class Transformer : public Model {
 public:
  // As load_model().
  Transformer(const std::filesystem::path& directory, Backend& backend, const WarningSink& warnings);

  // The same from tensors that are held elsewhere, under the names and in the shapes of expected_tensors();
  // they must outlive the model.
  using TensorFinder = std::function<TensorView(std::string_view name)>;
  Transformer(const ModelConfig& config, const TensorFinder& find, Backend& backend);

  const ModelConfig& config() const override { return config_; }
  Backend& backend() const override { return backend_; }
  Tensor forward(std::span<const ForwardSequence> sequences, Tap* tap = nullptr) const override;
  KvCache make_cache(Index capacity) const override;

 private:
  struct Layer {
    Tensor attention_norm, mlp_norm;  // [1, E]
    std::unique_ptr<Linear> qkv, o, gate_up, down;
  };
  struct Batch;

  void load(const TensorFinder& find);
  Layer load_layer(Index l, const TensorFinder& find) const;
  Batch make_batch(std::span<const ForwardSequence> sequences) const;
  Tensor attend(Index l, const Tensor& x, Batch& batch, Tap* tap) const;
  void run_attention(Index l, const AttentionArgs& args, Batch& batch, Tap* tap) const;
  void measure(Index l, AttentionArgs args, std::span<const Index> numbers, Batch& batch, Tap& tap) const;
  std::vector<Index> hand_over(Index l, std::span<const Index> numbers, const Batch& batch, Tap& tap) const;
  static std::vector<Index> all_sequences(const Batch& batch);
  void keep_only_read_rows(Tensor& x, Tensor& attended, const Batch& batch) const;

  ModelConfig config_;
  std::optional<Checkpoint> checkpoint_;  // mapped as long as the backend may read weights from it
  Backend& backend_;
  Tensor embedding_, final_norm_;
  std::vector<Layer> layers_;
  std::unique_ptr<Linear> head_;
  RopeTable rope_;
};

}  // namespace buoy
