// A tap that keeps whole attention matrices and hidden states of one short sequence.
#pragma once

#include <vector>

#include "model/config.h"
#include "model/tap.h"

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

}  // namespace buoy
