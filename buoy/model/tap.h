// The one seam for watching or changing attention. Models never learn who is watching.
#pragma once

#include "buoy/compute/backend.h"

namespace buoy {

// Called from the forward pass, on the caller's thread, layer by layer, for every sequence of the batch.
class Tap {
 public:
  virtual ~Tap() = default;

  // What a layer's attention should measure and how it is to be changed. Spans and pointers must stay valid
  // until measured() returns. Everything empty: plain attention.
  struct Plan {
    const AttentionRequest* request = nullptr;
    std::span<const float> key_bias;   // [N] or [H·N]
    std::span<const float> head_gain;  // [H]
  };
  virtual Plan plan(Index /*layer*/, Index /*sequence*/) { return {}; }

  // Handed what was measured, if anything was asked. kAgain: the layer's attention runs again for this
  // sequence with what plan() then says.
  enum class Next { kGoOn, kAgain };
  virtual Next measured(Index /*layer*/, Index /*sequence*/, const AttentionStats& /*stats*/) {
    return Next::kGoOn;
  }

  // False promises that measured() never answers kAgain. The pass may then run ahead and hand over a layer's
  // statistics a little later, still layer by layer and in order.
  virtual bool may_ask_again() const { return true; }

  // Hidden states: depth 0 is the embedding, l the output of layer l, the last one after the final norm.
  virtual bool wants_hidden() const { return false; }
  virtual void hidden(Index /*depth*/, Backend& /*backend*/, const Tensor& /*rows*/) {}
};

}  // namespace buoy
