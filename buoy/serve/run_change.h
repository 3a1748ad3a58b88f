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
  Index step = 0;                                  // the pass before which it is made, from 0
  StepChange tokens;                               // once
  std::vector<Index> hide_keys;                    // from then on no query sees these positions
  std::vector<std::pair<Index, Index>> cut_heads;  // layer and head: from then on they write nothing

  bool changes_attention() const { return !hide_keys.empty() || !cut_heads.empty(); }
  friend bool operator==(const RunChange&, const RunChange&) = default;
};

Json to_json(const RunChange& change);

// What is in force at a pass.
struct ChangeInForce {
  std::vector<Index> hide_keys;
  std::vector<std::pair<Index, Index>> cut_heads;
  bool empty() const { return hide_keys.empty() && cut_heads.empty(); }
};
ChangeInForce in_force(std::span<const RunChange> changes, Index pass);

// Hides keys and cuts heads, and hands everything else to another tap, which may be null.
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

 private:
  Tap* inner_;
  std::vector<float> key_bias_;                // [N], or empty
  std::vector<std::vector<float>> head_gain_;  // [L], each [H] or empty
};

}  // namespace buoy
