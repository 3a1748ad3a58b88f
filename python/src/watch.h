// Watches a generation for Python: keeps what was asked for of every step, and lets callbacks change
// attention.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <pybind11/pybind11.h>

#include "buoy/decode/generation.h"
#include "buoy/model/model.h"
#include "python/src/engine.h"

namespace buoy::python {

// What to keep of a step. Arrays of attention have one entry for each of `layers`.
struct WatchSettings {
  std::vector<Index> layers;               // ascending; whose attention is measured
  bool column_sums = false;                // of all rows of the pass, and of those that are read
  bool rows = false;                       // argmax, weight and entropy of the rows that are read
  std::vector<std::vector<Index>> masses;  // on these groups of key positions, of the rows that are read
  bool row_means = false, norms = false, qk_means = false;
  std::vector<Index> pattern_layers, pattern_heads;  // whole matrices; no heads: all
  std::vector<Index> state_layers;                   // rotated queries and keys
  bool logits = false;                               // of the rows that are read
  std::vector<Index> residual_depths;  // 0: the embedding, l: after l layers, L: after the final norm

  // Whether attention of the layer is measured for more than matrices and states.
  bool measures(Index layer) const;
};

// Python functions, or None. They are called on the thread that computes, with the GIL.
struct WatchCallbacks {
  pybind11::object before_layer;  // (step, layer, tokens) → None or (key_bias, head_gain), each may be None
  pybind11::object after_layer;  // (step, layer, arrays) → the same: the layer then runs again with it, once
  pybind11::object after_step;   // (dict of all that was kept); the model is free while it runs
};

// Wants a generation to stop; it does before its next pass. Any thread may ask.
struct Stop {
  std::atomic<bool> wanted = false;
};

// Ends a generation with what Python's signal handlers raise, or Cancelled where a stop is wanted.
class StoppableObserver : public GenerationObserver {
 public:
  explicit StoppableObserver(std::shared_ptr<Stop> stop) : stop_(std::move(stop)) {}
  bool cancelled() const override;

 private:
  std::shared_ptr<Stop> stop_;
};

// Stands before a model as the model itself, for one generation of one sequence. What a callback raises ends
// the generation when the pass is over, so that nothing of the engine is left half done. Made and destroyed
// with the GIL, used without.
class Watcher : public Model, public StoppableObserver, public Tap {
 public:
  // Throws UsageError for layers and heads that there are not.
  Watcher(Engine& engine, WatchSettings settings, WatchCallbacks callbacks, std::shared_ptr<Stop> stop);
  ~Watcher() override;

  const ModelConfig& config() const override { return model_.config(); }
  Backend& backend() const override { return model_.backend(); }
  Tensor forward(std::span<const ForwardSequence> sequences, Tap* tap) const override;
  KvCache make_cache(Index capacity) const override { return model_.make_cache(capacity); }

  Tap* before_pass(std::span<const Pass> passes) override;
  bool only_watches() const override;
  void after_step(Index sample, const Generation& generation) override;

  Plan plan(Index layer, Index sequence) override;
  Next measured(Index layer, Index sequence, const AttentionStats& stats) override;
  bool may_ask_again() const override;
  bool wants_hidden() const override;
  void hidden(Index depth, Backend& backend, const Tensor& rows) override;

 private:
  struct State;
  Engine& engine_;
  const Model& model_;
  std::unique_ptr<State> state_;  // changes while the model, which is const, runs
};

}  // namespace buoy::python
