// The transformer of all four families: token ids in, logits of the rows that are read out.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/log.h"
#include "compute/backend.h"
#include "io/safetensors.h"
#include "model/config.h"
#include "model/tap.h"

namespace buoy {

// Keys and values of the positions a causal model has already seen. One per sequence; grows up to its
// capacity.
struct KvCache {
  Index length = 0;
  std::vector<Tensor> keys, values;  // per layer [capacity, Hkv·D], rotated
};

// One sequence of a batch.
struct ForwardSequence {
  std::span<const TokenId> ids;      // the new tokens; with a cache they follow what it holds
  std::span<const Index> read_rows;  // indices into ids whose logits are wanted, in this order
  KvCache* cache = nullptr;          // causal models only; extended by the call
};

// Const after loading and shared by all who generate; the backend is used by one caller at a time.
class Transformer {
 public:
  // Opens, checks and loads a checkpoint directory. Throws Error listing every problem at once. The backend
  // must outlive the model.
  Transformer(const std::filesystem::path& directory, Backend& backend, const WarningSink& warnings);

  // The same from tensors that are held elsewhere, under the names and in the shapes of expected_tensors();
  // they must outlive the model.
  using TensorFinder = std::function<TensorView(std::string_view name)>;
  Transformer(const ModelConfig& config, const TensorFinder& find, Backend& backend);

  const ModelConfig& config() const { return config_; }
  Backend& backend() const { return backend_; }

  // Logits [Σ|read_rows|, V] of a batch of sequences, one pass. Throws Error for ids outside the vocabulary
  // and for sequences longer than the context. A sequence's result does not depend on the others.
  Tensor forward(std::span<const ForwardSequence> sequences, Tap* tap = nullptr) const;

  KvCache make_cache(Index capacity) const;

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
