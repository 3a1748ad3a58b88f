// Holds the anchors of layers where they stood at a visitor's step: `pin-anchors=steps` of buoy/intervene,
// begun there. Private to serve.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buoy/decode/sampler.h"
#include "buoy/model/model.h"
#include "buoy/prompt/tokenized_prompt.h"
#include "buoy/serve/run_change.h"
#include "buoy/text/tokenizer.h"

namespace buoy {

// Of one sample, pass by pass, on one thread. The pass at which a change pins layers is left alone: its
// anchors are the ones that are held from the next pass on.
class Pinning {
 public:
  // Goes by the pins in `changes`, no layer in two of them. Model, tokenizer and prompt must outlive it.
  Pinning(const Model& model, const Tokenizer& tokenizer, const TokenizedPrompt& prompt,
          std::span<const RunChange> changes);
  ~Pinning();
  Pinning(const Pinning&) = delete;
  Pinning& operator=(const Pinning&) = delete;

  // What sees the pass that is about to run; `inner` itself where nothing is pinned yet. Both must outlive
  // the pass.
  Tap* before_pass(const GenerationObserver::Pass& pass, Tap* inner);
  Tap* before_finished(const Generation& generation, Tap* inner);

  // Of the pass that has just run: the biases that its layers ran under. Nothing where none was pinned.
  std::optional<PassBias> used() const;
  // What is held, and what that took so far.
  std::vector<HeldLayer> held() const;

 private:
  class RoutingTap;
  struct Pin;

  Index L_;
  std::vector<std::unique_ptr<Pin>> pins_;
  std::unique_ptr<RoutingTap> tap_;  // of the pass that runs; null: nothing is pinned in it
};

// Throws HttpError 400, with the reason, for pins that cannot be carried out: in a layer without a softmax,
// of a layer that is pinned already, under classifier-free guidance.
void check_pins(std::span<const RunChange> changes, const SamplerSettings& sampler, const ModelConfig& config,
                const std::string& model);

}  // namespace buoy
