// The one seam for watching or changing what goes on inside a model. Models never learn who is watching.
#pragma once

#include "buoy/compute/backend.h"

namespace buoy {

// Called from the forward pass, on the caller's thread, for every sequence of the batch. The order of a pass
// over L layers, for depths and layers d = 0 … L - 1:
//
//   add(d)        what is added here is part of the residual stream from now on
//   hidden(d)     sees it
//   plan(d), measured(d)   of attention in layer d, more than once where measured() asks again
//   routed(d)     where layer d has experts
//
// then add(L), the final norm, hidden(L). So what layer d measured may decide what is added at depth d + 1.
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
  // statistics a little later, still layer by layer and before the next depth.
  virtual bool may_ask_again() const { return true; }

  // What to add to the residual stream: at depth 0 to the embedding, at depth l to the output of l layers, at
  // depth L to that of the last one, before the final norm (there, rows that nobody reads are gone, and what
  // would be added to them goes with them). Spans must stay valid until the next call. Empty values: nothing.
  struct Addition {
    std::span<const float> values;  // [rows, E], or [E]: the same for each
    std::span<const Index> rows;    // ascending, counted among the sequence's rows of this pass; empty: all
  };
  virtual Addition add(Index /*depth*/, Index /*sequence*/) { return {}; }

  // Where the rows of a sequence went in a layer with experts. In the last layer only rows that are read are
  // left (all, where hidden states are wanted): `rows` says which, in the
  // order in which they are read.
  struct RoutedRows {
    Index active;                           // experts a row
    std::span<const std::int32_t> experts;  // [rows, active], best first
    std::span<const float> weights;         // [rows, active]
    std::span<const Index> rows;            // counted among the sequence's of this pass; empty: all
  };
  virtual bool wants_routing() const { return false; }
  virtual void routed(Index /*layer*/, Index /*sequence*/, const RoutedRows& /*routed*/) {}

  // Hidden states: depth 0 is the embedding, l the output of l layers, the last one after the final norm. All
  // rows are computed to the end where they are wanted.
  virtual bool wants_hidden() const { return false; }
  virtual void hidden(Index /*depth*/, Backend& /*backend*/, const Tensor& /*rows*/) {}
};

}  // namespace buoy
