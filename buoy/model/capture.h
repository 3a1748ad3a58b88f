// Taps that watch a single sequence: one keeps whole matrices and hidden states, one hands each layer on.
#pragma once

#include <functional>
#include <vector>

#include "buoy/model/config.h"
#include "buoy/model/tap.h"

namespace buoy {

struct CaptureOptions {
  bool attentions = false;
  bool hidden = false;
};

// For a pass over a single sequence of T tokens. Memory grows with L·H·T²: see fits().
class CaptureTap : public Tap {
 public:
  explicit CaptureTap(const CaptureOptions& options);

  Plan plan(Index layer, Index sequence) override;
  Next measured(Index layer, Index sequence, const AttentionStats& stats) override;
  bool may_ask_again() const override { return false; }
  bool wants_hidden() const override { return options_.hidden; }
  void hidden(Index depth, Backend& backend, const Tensor& rows) override;

  // Whether the attention matrices of T tokens stay under the limit of compute/attention.h per layer.
  static bool fits(const ModelConfig& config, Index T);

  std::vector<float> attentions;     // [L, H, T, T]
  std::vector<float> hidden_states;  // [L + 1, T, E]

 private:
  CaptureOptions options_;
  AttentionRequest request_;
};

// Hands the measurements of the wanted layers to a function, in order of layers, and keeps nothing: what one
// layer needs is all that is held. For a pass over a single sequence.
class LayerTap : public Tap {
 public:
  // Called with the layer; the stats live until it returns.
  using Take = std::function<void(Index layer, const AttentionStats& stats)>;

  // `layers` ascending.
  LayerTap(std::vector<Index> layers, AttentionRequest request, Take take);

  Plan plan(Index layer, Index sequence) override;
  Next measured(Index layer, Index sequence, const AttentionStats& stats) override;
  bool may_ask_again() const override { return false; }

 private:
  std::vector<Index> layers_;
  AttentionRequest request_;
  Take take_;
};

}  // namespace buoy
