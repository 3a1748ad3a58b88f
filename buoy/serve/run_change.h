// What a visitor changed in a run, from which step on, and the tap that carries it out.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "buoy/decode/generation.h"
#include "buoy/io/json_fwd.h"
#include "buoy/model/config.h"
#include "buoy/model/tap.h"

namespace buoy {

struct RunChange {
  Index step = 0;                                       // the pass before which it is made, from 0
  StepChange tokens = {};                               // once
  std::vector<Index> hide_keys = {};                    // from then on no query sees these positions
  std::vector<std::pair<Index, Index>> cut_heads = {};  // layer and head: from then on they write nothing
  std::vector<Index> pin_anchors = {};  // layers: from then on their anchors stay those of that pass

  bool changes_attention() const { return !hide_keys.empty() || !cut_heads.empty() || !pin_anchors.empty(); }
  friend bool operator==(const RunChange&, const RunChange&) = default;
};

Json to_json(const RunChange& change);

// The biases that held anchors in a pass over N keys.
struct PassBias {
  Index pass = 0;
  std::vector<std::vector<float>> layers;  // [L], each [N], for all heads, or empty
};

// A layer whose anchors are held.
struct HeldLayer {
  Index layer = 0, step = 0;     // since that pass
  std::vector<Index> positions;  // that are held, ascending; empty until a pass has anchors
  Index pressed = 0;             // keys held down so far, one for each pass
  Index unsettled = 0;           // passes in which that was out of reach, and the layer left as it is
};

// What is in force at a pass. Biases that hold anchors come of the pass itself: `pinned` are those of one
// that ran.
struct ChangeInForce {
  std::vector<Index> hide_keys;
  std::vector<std::pair<Index, Index>> cut_heads;
  std::vector<std::vector<float>> pinned;  // as PassBias::layers, or empty
};
ChangeInForce in_force(std::span<const RunChange> changes, Index pass);

// Hides keys and cuts heads, and hands everything else to another tap, which may be null and may have biases
// of its own.
class ChangeTap : public Tap {
 public:
  // For passes over sequences of N keys.
  ChangeTap(const ModelConfig& config, const ChangeInForce& change, Index N, Tap* inner);

  Plan plan(Index layer, Index sequence) override;
  Next measured(Index layer, Index sequence, const AttentionStats& stats) override;
  bool may_ask_again() const override { return inner_ != nullptr && inner_->may_ask_again(); }
  Addition add(Index depth, Index sequence) override;
  bool wants_routing() const override { return inner_ != nullptr && inner_->wants_routing(); }
  void routed(Index layer, Index sequence, const RoutedRows& routed) override;
  bool wants_hidden() const override { return inner_ != nullptr && inner_->wants_hidden(); }
  void hidden(Index depth, Backend& backend, const Tensor& rows) override;

  // [N], or empty: of the keys that are hidden or pinned, without those of the other tap.
  std::span<const float> key_bias(Index layer) const;

 private:
  Tap* inner_;
  std::vector<float> hidden_keys_;             // [N], or empty
  std::vector<std::vector<float>> pinned_;     // [L], each [N], hidden keys too, or empty
  std::vector<float> with_inner_;              // [H·N] of the layer that runs
  std::vector<std::vector<float>> head_gain_;  // [L], each [H] or empty
};

}  // namespace buoy
