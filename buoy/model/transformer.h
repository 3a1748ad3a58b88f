// The transformer of all families.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "buoy/io/safetensors.h"
#include "buoy/model/model.h"

namespace buoy {

class Transformer : public Model {
 public:
  // As load_model().
  Transformer(const std::filesystem::path& directory, Backend& backend, const WarningSink& warnings,
              std::string_view family = {});

  // The same from tensors that are held elsewhere, under the names and in the shapes of expected_tensors();
  // they must outlive the model.
  using TensorFinder = std::function<TensorView(std::string_view name)>;
  Transformer(const ModelConfig& config, const TensorFinder& find, Backend& backend);

  const ModelConfig& config() const override { return config_; }
  Backend& backend() const override { return backend_; }
  Tensor forward(std::span<const ForwardSequence> sequences, Tap* tap = nullptr) const override;
  KvCache make_cache(Index capacity) const override;

 private:
  // What mixes the rows of a layer, as loaded; one alternative for each MixerKind.
  struct Attention {
    PositionKind positions;
    std::unique_ptr<Linear> qkv;
    std::optional<RmsNorm> query_norm, key_norm;
  };
  struct StateSpace {
    std::unique_ptr<Linear> projection;  // E → values, B, C, both Δ, D
    Convolution convolution;             // of values, B and C
    SsdWeights weights;
    RmsNorm norm;  // of all heads' outputs
  };
  using Mixer = std::variant<Attention, StateSpace>;
  struct Layer {
    Norm mixer_norm;
    Mixer mixer;
    std::unique_ptr<Linear> output;  // of the mixer, back to E
    Norm feed_forward_norm;
    FeedForward feed_forward;
  };
  // What a pass knows about its rows, and the activations it reuses from layer to layer.
  struct Batch {
    std::span<const ForwardSequence> sequences;
    std::vector<TokenId> ids;      // of all sequences, one after the other
    std::vector<Index> first_row;  // per sequence
    std::vector<Index> positions;  // per row
    std::vector<Index> read_rows;  // rows of the batch whose logits are wanted
    bool only_read_rows = false;   // whether the residual stream has shrunk to those
    Tensor qkv, attended;
    Tensor gated, convolved, mixed;           // of state space mixers
    std::vector<AttentionSequence> measured;  // the round of attention whose statistics are in `stats`
    std::vector<AttentionStats> stats;
  };
  class PartLoader;

  void load(const TensorFinder& find);
  void check_positions(const ForwardSequence& sequence) const;
  Batch make_batch(std::span<const ForwardSequence> sequences) const;
  Tensor mix(Index l, const Tensor& x, Batch& batch, Tap* tap) const;
  Tensor attend(Index l, const Attention& attention, const Tensor& x, Batch& batch, Tap* tap) const;
  Tensor scan(Index l, const StateSpace& mixer, const Tensor& x, Batch& batch, Tap* tap) const;
  // One round of a layer's mixer over some of the batch's sequences, into Batch::attended.
  using Round = std::function<void(std::span<const AttentionSequence>, Delivery)>;
  void run_rounds(Index l, std::span<const AttentionSequence> parts, const Round& round, Batch& batch,
                  Tap* tap) const;
  void measure(Index l, std::span<const AttentionSequence> parts, std::span<const Index> numbers,
               const Round& round, Batch& batch, Tap& tap) const;
  std::vector<Index> hand_over(Index l, std::span<const Index> numbers, const Batch& batch, Tap& tap) const;
  static std::vector<Index> all_sequences(const Batch& batch);
  void hand_over_routing(Index l, const Routing& routing, const Batch& batch, Tap& tap) const;
  void keep_only_read_rows(Tensor& x, Tensor& mixed, Batch& batch) const;
  void add_to_residual(Index depth, const Tensor& x, const Batch& batch, Tap& tap) const;

  ModelConfig config_;
  std::optional<Checkpoint> checkpoint_;  // mapped as long as the backend may read weights from it
  Backend& backend_;
  Tensor embedding_;
  Norm final_norm_;
  std::vector<Layer> layers_;
  std::unique_ptr<Linear> head_;
  RopeTable rope_;
};

}  // namespace buoy
