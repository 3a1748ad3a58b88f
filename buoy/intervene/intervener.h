// Carries an intervention out on a batch that is being generated, under whoever else is watching.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "buoy/decode/generation.h"
#include "buoy/intervene/intervention.h"
#include "buoy/model/model.h"
#include "buoy/prompt/tokenized_prompt.h"

namespace buoy {

// Finds out, where the intervention asks for it, what keys receive in an unmodified pass over the same
// tokens; lets the intervention change each layer; and hands what attention then measures to the inner
// observer's tap, which sees only the attention that was used. A sample's changes depend on no other sample.
// Not for classifier-free guidance: the sequences without a prompt are left alone.
class Intervener : public GenerationObserver {
 public:
  // Sample i draws from streams.of(i). All arguments must outlive it; `inner` may be null.
  Intervener(const Model& model, const Tokenizer& tokenizer, const InterventionSettings& settings,
             std::span<const TokenizedPrompt* const> prompts, SampleStreams streams,
             GenerationObserver* inner = nullptr);
  ~Intervener() override;

  Tap* before_pass(std::span<const Pass> passes) override;
  void proposed(Index sample, std::span<const Proposal> proposals) override;
  void after_step(Index sample, const Generation& generation) override;
  bool cancelled() const override { return inner_ != nullptr && inner_->cancelled(); }

  // The same for one pass over each finished sequence, which counts as the step after the last.
  Tap* before_finished(std::span<const Generation> generations, Tap* inner);

  const SampleMemory& memory(Index sample) const;

  // How much was done to a sample so far, as numbers of its layers.
  Measurements dose(Index sample) const;

 private:
  class ChangingTap;
  struct Sample;

  bool goes_by_the_last_row() const;
  void begin(Sample& sample, const Generation& generation, std::span<const TokenId> tokens, Index first_row);
  void look_unmodified(std::span<Sample* const> samples);
  Tap* tap_for(std::vector<Sample*> samples, Tap* inner);

  const Model& model_;
  const Tokenizer& tokenizer_;
  const InterventionSettings& settings_;
  GenerationObserver* inner_;
  std::vector<Index> heads_;
  std::vector<Sample> samples_;
  std::unique_ptr<ChangingTap> tap_;
};

}  // namespace buoy
