// A model without weights for tests: its logits and what its attention measures are written down beforehand,
// so that what samplers and interventions make of them can be worked out by hand.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "buoy/model/model.h"

namespace buoy {

class ScriptedModel : public Model {
 public:
  // What a tap asked for at one layer of one sequence.
  struct SeenPlan {
    Index pass = 0, layer = 0, sequence = 0;
    bool measured = false;  // whether it asked for statistics
    std::vector<float> key_bias, head_gain;
  };

  // A family by its model_type, with V tokens; L and H may be set afterwards.
  ScriptedModel(std::string_view model_type, Index V) : backend_(make_reference_backend()) {
    config_.family = find_family(model_type);
    config_.V = V;
    config_.L = config_.H = config_.Hkv = 1;
    config_.context = 4096;
    config_.block = config_.family->block;
    config_.mask = config_.block > 0 ? Mask::blocks(config_.block) : config_.family->mask;
    if (config_.family->writing == Writing::kFillsMasks) config_.mask_id = static_cast<TokenId>(V - 1);
  }

  ModelConfig& settings() { return config_; }
  // Logits [V] of a row of a sequence. Unset: all 0.
  std::function<std::vector<float>(const ForwardSequence&, Index row)> logits;
  // Column sums [H, N] of all rows, for the pass with that number. Unset: all 0.
  std::function<std::vector<float>(Index pass, Index layer, Index sequence, Index N)> column_sums;

  const std::vector<SeenPlan>& plans() const { return plans_; }
  const std::vector<std::vector<std::vector<TokenId>>>& passes() const { return passes_; }  // ids that ran

  const ModelConfig& config() const override { return config_; }
  Backend& backend() const override { return *backend_; }
  KvCache make_cache(Index) const override { return {}; }

  Tensor forward(std::span<const ForwardSequence> sequences, Tap* tap = nullptr) const override {
    passes_.emplace_back();
    std::vector<float> rows;
    for (const ForwardSequence& s : sequences) {
      passes_.back().emplace_back(s.ids.begin(), s.ids.end());
      for (const Index row : s.read_rows) {
        const std::vector<float> values =
            logits ? logits(s, row) : std::vector<float>(static_cast<std::size_t>(config_.V));
        rows.insert(rows.end(), values.begin(), values.end());
      }
      if (s.cache != nullptr && s.positions.empty()) s.cache->length += std::ssize(s.ids);
    }
    for (Index layer = 0; tap != nullptr && layer < config_.L; ++layer) {
      for (Index i = 0; i < std::ssize(sequences); ++i) run_layer(*tap, layer, i, sequences);
    }
    const Tensor out = backend_->allocate(std::ssize(rows) / config_.V, config_.V);
    backend_->upload(rows, out);
    return out;
  }

 private:
  void run_layer(Tap& tap, Index layer, Index i, std::span<const ForwardSequence> sequences) const {
    const Index N = std::ssize(sequences[static_cast<std::size_t>(i)].ids);
    const Index pass = std::ssize(passes_) - 1;
    for (Tap::Next next = Tap::Next::kAgain; next == Tap::Next::kAgain;) {
      const Tap::Plan plan = tap.plan(layer, i);
      plans_.push_back({.pass = pass,
                        .layer = layer,
                        .sequence = i,
                        .measured = plan.request != nullptr,
                        .key_bias = {plan.key_bias.begin(), plan.key_bias.end()},
                        .head_gain = {plan.head_gain.begin(), plan.head_gain.end()}});
      if (plan.request == nullptr) return;
      AttentionStats stats;
      stats.column_sums = column_sums ? column_sums(pass, layer, i, N)
                                      : std::vector<float>(static_cast<std::size_t>(config_.H * N));
      next = tap.measured(layer, i, stats);
    }
  }

  ModelConfig config_;
  std::unique_ptr<Backend> backend_;
  mutable std::vector<SeenPlan> plans_;
  mutable std::vector<std::vector<std::vector<TokenId>>> passes_;
};

}  // namespace buoy
