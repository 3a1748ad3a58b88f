// Folds what attention measures, pass by pass, into a trace of one sequence. Holds nothing that grows with
// N².
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "buoy/model/config.h"
#include "buoy/model/tap.h"
#include "buoy/probe/record_settings.h"
#include "buoy/probe/trace.h"

namespace buoy {

// What is known of an example before it runs. The regions cover the prompt and name an Answer and a Tail,
// which have no positions yet.
struct PromptLayout {
  RegionMap regions;
  std::vector<std::int8_t> evidence;  // [prompt length]
};

// One pass of a generation, as it is about to run.
struct RecordedPass {
  std::optional<Index> step = 0;     // from 0; none: no step, but rows that stand under those to come
  std::span<const TokenId> tokens;   // the whole sequence, as far as the pass goes
  Index first_row = 0;               // rows before it were computed by earlier passes and stand
  std::span<const Index> read_rows;  // positions whose logits are read
  PassRows rows = PassRows::kAnew;   // kAddUp: those of this pass stand, too
};

// Records one sequence: begin_pass, then plan and measured layer by layer, then end_pass (where it is a
// step); at the end the same with begin_finished over the finished sequence, and take().
class Recorder {
 public:
  // Throws Error when the prompt has more regions, and regions with evidence, than attention can be split by,
  // UsageError for layers the model does not have.
  Recorder(const ModelConfig& config, const RecordSettings& settings, PromptLayout layout);
  ~Recorder();
  Recorder(Recorder&&) noexcept;
  Recorder& operator=(Recorder&&) noexcept;

  void begin_pass(const RecordedPass& pass);
  // The pass at hand proposes a token for a position that it may fill; before end_pass.
  void guessed(Index position, TokenId token, double confidence);
  void end_pass(std::span<const Index> committed);  // positions the pass wrote

  // `eos` ends the answer: what follows its first one is Tail.
  void begin_finished(std::span<const TokenId> tokens, std::span<const TokenId> eos);

  // nullptr: nothing to measure at this layer. Valid until the next begin.
  const AttentionRequest* request(Index layer) const;
  void measured(Index layer, const AttentionStats& stats);

  // Whether the pass at hand should say which experts its rows go to, and what it says.
  bool wants_routing() const;
  void routed(Index layer, const Tap::RoutedRows& routed);

  // The step that was recorded last, at its own length, without what only the next one tells
  // (received_staying). nullptr: none was.
  const Trace* last_step() const;
  // What take() will say of the model, and the layers; no tokens, no records.
  Trace frame() const;

  // The records, tokens, regions and evidence of a trace; who called knows the rest. Once, after the finished
  // pass.
  Trace take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Lets a batch be recorded: sequence i of the pass belongs to recorders[i]; sequences beyond are left alone.
class RecorderTap : public Tap {
 public:
  std::vector<Recorder*> recorders;

  Plan plan(Index layer, Index sequence) override;
  Next measured(Index layer, Index sequence, const AttentionStats& stats) override;
  bool may_ask_again() const override { return false; }
  bool wants_routing() const override;
  void routed(Index layer, Index sequence, const RoutedRows& routed) override;
};

}  // namespace buoy
