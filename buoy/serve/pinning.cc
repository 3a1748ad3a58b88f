#include "buoy/serve/pinning.h"

#include <algorithm>
#include <set>

#include "buoy/base/at.h"
#include "buoy/intervene/intervener.h"
#include "buoy/serve/http.h"

namespace buoy {
namespace {

InterventionSettings settings_for(const RunChange& change) {
  InterventionSettings settings = parse_intervention("pin-anchors=steps").front();
  settings.site.layers = change.pin_anchors;
  return settings;
}

}  // namespace

struct Pinning::Pin {
  Pin(const Model& model, const Tokenizer& tokenizer, const TokenizedPrompt& prompt, const RunChange& change)
      : step(change.step),
        settings(settings_for(change)),
        prompts{&prompt},
        intervener(model, tokenizer, settings, prompts, {}, &handing) {}

  // Hands the intervener the tap that watches.
  struct Handing : GenerationObserver {
    Tap* before_pass(std::span<const Pass>) override { return tap; }
    Tap* tap = nullptr;
  };

  Index step;
  InterventionSettings settings;
  const TokenizedPrompt* prompts[1];
  Handing handing;
  Intervener intervener;
};

// Every layer to the tap that pins it, the others to the one that watches; keeps the biases used.
class Pinning::RoutingTap : public Tap {
 public:
  RoutingTap(Index pass, Index N, Index L, Tap* inner) : inner_(inner), of_(at(L), inner), N_(N) {
    used.pass = pass;
    used.layers.resize(at(L));
  }

  void route(const std::vector<Index>& layers, Tap* tap) {
    for (const Index layer : layers) of_[at(layer)] = tap;
  }

  Plan plan(Index layer, Index sequence) override {
    const Plan plan = of_[at(layer)]->plan(layer, sequence);
    if (of_[at(layer)] == inner_) return plan;
    // One bias for all heads; what the last round of a layer says is what it ran under.
    const auto first = plan.key_bias.first(at(N_));
    const bool none = std::ranges::all_of(first, [](float b) { return b == 0; });
    used.layers[at(layer)].assign(first.begin(), none ? first.begin() : first.end());
    return plan;
  }
  Next measured(Index layer, Index sequence, const AttentionStats& stats) override {
    return of_[at(layer)]->measured(layer, sequence, stats);
  }
  Addition add(Index depth, Index sequence) override { return inner_->add(depth, sequence); }
  bool wants_routing() const override { return inner_->wants_routing(); }
  void routed(Index layer, Index sequence, const RoutedRows& routed) override {
    inner_->routed(layer, sequence, routed);
  }
  bool wants_hidden() const override { return inner_->wants_hidden(); }
  void hidden(Index depth, Backend& backend, const Tensor& rows) override {
    inner_->hidden(depth, backend, rows);
  }

  PassBias used;

 private:
  Tap* inner_;
  std::vector<Tap*> of_;  // [L]
  Index N_;
};

Pinning::Pinning(const Model& model, const Tokenizer& tokenizer, const TokenizedPrompt& prompt,
                 std::span<const RunChange> changes)
    : L_(model.config().L) {
  for (const RunChange& change : changes) {
    if (!change.pin_anchors.empty()) pins_.push_back(std::make_unique<Pin>(model, tokenizer, prompt, change));
  }
}

Pinning::~Pinning() = default;

Tap* Pinning::before_pass(const GenerationObserver::Pass& pass, Tap* inner) {
  tap_.reset();
  for (const auto& pin : pins_) {
    if (pass.generation->steps < pin->step) continue;
    if (!tap_)
      tap_ = std::make_unique<RoutingTap>(pass.generation->steps, std::ssize(pass.tokens), L_, inner);
    pin->handing.tap = inner;
    tap_->route(pin->settings.site.layers, pin->intervener.before_pass({&pass, 1}));
  }
  return tap_ ? tap_.get() : inner;
}

Tap* Pinning::before_finished(const Generation& generation, Tap* inner) {
  tap_.reset();
  for (const auto& pin : pins_) {
    if (generation.steps < pin->step) continue;
    if (!tap_)
      tap_ = std::make_unique<RoutingTap>(generation.steps, std::ssize(generation.tokens), L_, inner);
    tap_->route(pin->settings.site.layers, pin->intervener.before_finished({&generation, 1}, inner));
  }
  return tap_ ? tap_.get() : inner;
}

std::optional<PassBias> Pinning::used() const {
  if (!tap_) return std::nullopt;
  return tap_->used;
}

std::vector<HeldLayer> Pinning::held() const {
  std::vector<HeldLayer> all;
  for (const auto& pin : pins_) {
    const SampleMemory& memory = pin->intervener.memory(0);
    for (const Index layer : pin->settings.site.layers) {
      const std::optional<FrozenAnchors>& frozen = memory.frozen[at(layer)];
      const LayerDose& dose = memory.doses[at(layer)];
      all.push_back({.layer = layer,
                     .step = pin->step,
                     .positions = frozen ? frozen->positions : std::vector<Index>{},
                     .pressed = static_cast<Index>(dose[Dose::kPressed]),
                     .unsettled = static_cast<Index>(dose[Dose::kUnsettled])});
    }
  }
  return all;
}

void check_pins(std::span<const RunChange> changes, const SamplerSettings& sampler, const ModelConfig& config,
                const std::string& model) {
  std::set<Index> pinned;
  for (const RunChange& change : changes) {
    for (const Index layer : change.pin_anchors) {
      if (config.layer(layer).mixer == MixerKind::kSsd) {
        fail_http(400,
                  "pin_anchors: layer {} of {} has a state space mixer: there is no softmax in which a bias "
                  "could press or raise a key",
                  layer, model);
      }
      if (!pinned.insert(layer).second) fail_http(400, "pin_anchors: layer {} is pinned already", layer);
    }
  }
  if (!pinned.empty() && sampler.cfg_scale > 0)
    fail_http(400, "pin_anchors: with cfg_scale it would reach only one half of a pass");
}

}  // namespace buoy
