// Changes to attention while a model writes, on two primitives: a bias per key and a gain per head. Which
// interventions there are stands in interventions.cc alone; this is what they share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/analysis/anchors.h"
#include "buoy/intervene/dose.h"
#include "buoy/model/config.h"
#include "buoy/probe/record_settings.h"
#include "buoy/probe/region.h"
#include "buoy/text/token_class.h"

namespace buoy {

struct HeadId {
  Index layer = 0, head = 0;
  friend auto operator<=>(const HeadId&, const HeadId&) = default;
};

// Where an intervention acts. Empty lists: everywhere.
struct InterventionSite {
  std::vector<Index> layers, heads;
  StepChoice steps;

  bool has_layer(Index layer) const;
  bool has_head(Index head) const;
};

// Which unmodified pass anchors are taken from.
enum class AnchorsFrom { kSameStep, kPreviousStep };

struct Intervention;

struct InterventionSettings {
  const Intervention* kind = nullptr;
  std::string parameter;  // as typed; empty where it takes none
  Index count = 0;        // the parameter, where it is a number
  InterventionSite site;
  bool per_head = false;  // anchors of every head by itself
  AnchorsFrom from = AnchorsFrom::kSameStep;
  bool spare_evidence = false;  // neither anchors nor their stand-ins are evidence, where keys are hidden
  double epsilon = 3;           // of the excess rule, where anchors are frozen
  std::vector<HeadId> ranking;  // retrieval heads, best first, where heads are cut
  std::uint64_t seed = 0;

  std::string name() const;  // "mask-anchors=5"
};

// Where a key stands: the kind of its region and, of passages, the third of their places.
struct KeyPlace {
  RegionKind kind = RegionKind::kAnswer;
  Index third = 0;  // ⌊3(p − 1)/n⌋ of the p-th of n passages; 0 elsewhere
  friend bool operator==(const KeyPlace&, const KeyPlace&) = default;
};

// The places of N keys: of the prompt's as its regions say, of what is generated Answer. O(N).
std::vector<KeyPlace> key_places(const RegionMap& prompt, Index N);

// One sequence's attention in one layer of one pass, as an intervention sees it.
struct LayerView {
  const InterventionSettings& settings;
  PassRows rows = PassRows::kAnew;
  Index layer = 0, step = 0;
  std::uint32_t stream = 0;  // of the sample's random draws
  bool acts = false;         // whether it may change anything here
  Index H = 0, N = 0;
  std::span<const Index> heads;  // that may be changed
  // What every key receives, [H, N], each row adding up to 1 where every query sees a key. For change(): in
  // an unmodified pass, empty unless asked for. For correct(): as the layer has just run, over the rows that
  // the intervention counts.
  std::span<const float> received;
  std::span<const double> null;           // [N] the same under uniform attention
  std::span<const TokenClass> classes;    // [N] before the pass; empty unless asked for
  std::span<const KeyPlace> places;       // [N]
  std::span<const std::int8_t> evidence;  // [N]

  // Mean of `received` over the heads that may be changed.
  std::vector<double> mean_received() const;
};

// What becomes of a layer's attention. Begins as no change at all: bias 0, gain 1.
struct LayerChange {
  Index N = 0;
  std::vector<float> key_bias;   // [H, N]
  std::vector<float> head_gain;  // [H]
  LayerDose dose;                // what was done to this layer in this pass

  void hide(std::span<const Index> heads, Index key);
  bool hides(std::span<const Index> heads, Index key) const;
  void add_bias(std::span<const Index> heads, Index key, double bias);
};

// The anchors of a layer and what a key's excess must pass to be one.
struct FrozenAnchors {
  std::vector<Index> positions;  // ascending
  double threshold = 0;          // press-anchors: what no other key's excess may pass
  std::vector<Index> receivers;  // pin-anchors: who is given what others lose; ascending
};

// A layer that is being pinned, from its first round to its last.
struct PinnedLayer {
  std::vector<double> free;    // [N] what keys receive as the layer computes it
  std::vector<double> level;   // [N] what a key outside the set may receive
  std::vector<Index> pressed;  // keys that are held down; ascending
  // Of every key, and of the set as a whole last: log-odds before the last round, and by how much its bias
  // moved in it. [N + 1]
  std::vector<double> odds, step;
  bool given_up = false;  // the aim was out of reach; the layer runs as it is
};

// What an intervention remembers of one sample.
struct SampleMemory {
  std::vector<std::optional<FrozenAnchors>> frozen;  // [L]
  PinnedLayer pinned;
  Index corrections = 0;         // times that a layer was run again
  std::vector<LayerDose> doses;  // [L]
};

enum class InterventionParameter { kNone, kCount, kAcross };

// The rows that correct() goes by: all that the sequence has so far, those that earlier passes computed and
// that stand among them; or those that this pass computes, which alone can be moved. Where every pass
// computes all rows anew, the two are the same.
enum class CorrectedRows { kSoFar, kOfThePass };

struct Intervention {
  std::string_view name, about;
  InterventionParameter parameter;
  std::string_view control = "";  // which intervention, with the same parameter, shows what chance would do
  bool needs_unmodified = false, needs_classes = false, needs_ranking = false;
  // Before a layer runs; only where the intervention acts.
  void (*change)(const LayerView& view, LayerChange& change) = nullptr;
  // After it ran, at every layer and step: true to run it again under the new change, for the round-th time.
  // nullptr: never.
  bool (*correct)(const LayerView& view, Index round, SampleMemory& memory, LayerChange& change) = nullptr;
  CorrectedRows rows = CorrectedRows::kSoFar;
  std::span<const Dose> doses = {};  // that it reports
};

// The table; adding one is a row and a function in interventions.cc.
std::span<const Intervention> interventions();

// "mask-bos", "mask-anchors=5", or several at once: "mask-anchors=1,5,10". Throws UsageError naming what is
// wrong and what there is.
std::vector<InterventionSettings> parse_intervention(std::string_view text);

// The control of an intervention, with the same parameter and site; nothing where it has none.
std::optional<InterventionSettings> control_of(const InterventionSettings& settings);

// The first layer of the site in which the intervention cannot be carried out: one with a state space mixer,
// where keys are to be pressed or raised. Nothing where there is none.
std::optional<Index> unfit_layer(const InterventionSettings& settings, const ModelConfig& config);

// Throws UsageError when the site names layers or heads that the model does not have, or one that is unfit,
// or there are fewer heads than are to be cut.
void check_intervention(const InterventionSettings& settings, const ModelConfig& config,
                        const std::string& model);

}  // namespace buoy
