// Runs under interventions: which, where, on which heads, each beside its control.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buoy/engine/answering.h"
#include "buoy/intervene/intervene_table.h"
#include "buoy/intervene/intervention.h"

namespace buoy {

// Where interventions act and what they go by; one choice for all of a run.
struct InterventionChoice {
  std::vector<std::string> interventions;  // "mask-bos", "mask-anchors=1,5": see parse_intervention()
  std::string layers = "all", heads = "all", steps = "all";
  bool per_head = false;
  AnchorsFrom from = AnchorsFrom::kSameStep;
  bool spare_evidence = false;
  double epsilon = 3;
  std::filesystem::path rank_data;  // heads are ranked on; empty: the items after those of the run
  Index rank_items = 50;
};

// "same", "previous". Throws UsageError.
AnchorsFrom parse_anchors_from(std::string_view name);

// What becomes of an intervention that cannot be carried out in a layer of one model (unfit_layer()) though
// it can in another model: an error, or that model goes without it.
enum class Unfit { kRefused, kLeftOut };

// The interventions, each once. Throws UsageError, also for layers and heads that a model does not have, for
// one that is unfit for all models, and for sampler settings that leave part of a pass without an
// intervention.
std::vector<InterventionSettings> choose_interventions(const InterventionChoice& choice,
                                                       const SamplerSettings& sampler,
                                                       std::span<const NamedModel> models,
                                                       Unfit unfit = Unfit::kRefused);

// Throws UsageError for a step to act at that a model has under none of the samplers, where there are any.
void check_steps(const InterventionChoice& choice, const NamedModel& model,
                 std::span<const SamplerSettings> samplers);

// Those of the choice that some model can be put through; the observer is warned of the others. For lists
// that nobody asked for by name.
std::vector<std::string> fitting_interventions(const InterventionChoice& choice,
                                               std::span<const NamedModel> models, RunObserver& observer);

// Everything that is run: what was asked for, each followed by its control, none twice.
struct InterventionPlan {
  std::vector<InterventionSettings> settings;
  std::vector<InterventionCondition> named;  // "none" first, then as in settings
};
InterventionPlan with_controls(std::span<const InterventionSettings> wanted);

// What else the answers depend on.
Json to_json(const InterventionChoice& choice);

// Items to rank heads on that are not among those evaluated: of rank_data, or those that follow the evaluated
// ones. Throws UsageError when there are none. Nothing where no intervention needs a ranking.
std::vector<QaItem> held_out_items(const InterventionChoice& choice, std::span<const NamedItems> data,
                                   std::span<const InterventionSettings> settings,
                                   const WarningSink& warnings);

// Everything that a run goes through, by name, with what else its answers depend on: for those that need a
// ranking, the items that heads are ranked on.
Json describe_interventions(const InterventionPlan& plan, std::span<const QaItem> held_out);

// What earlier commands put the run through, `under` being describe_interventions() of all of them, behind
// what this one does; for tables.
InterventionPlan with_earlier(const InterventionPlan& plan, const InterventionChoice& choice,
                              const SamplerSettings& sampler, const Json& under);

// Gives those that need it the model's heads, of the layers and heads they name, by how much of the answer
// each copies from the evidence, ties by the weight that it has on the evidence (docs/definitions.md,
// "Retrieval heads").
void rank_heads(const TracingModel& model, std::span<const QaItem> held_out, Index batch_size,
                std::span<InterventionSettings> settings, RunObserver& observer);

struct InterventionRunSettings {
  RunSettings run;
  InterventionChoice choice{.interventions = {"mask-bos", "mask-anchors=5", "pin-anchors=steps",
                                              "pin-anchors=layers", "cut-heads=8"}};
  std::string passages = "given";
  std::optional<CollectOptions> trace;  // set: attention is recorded on the same pass
};

struct IntervenedRun {
  std::filesystem::path output = {};  // where it was kept
  std::vector<NamedItems> data;
  InterventionResult result;
};

// Answers every item without any intervention, under each, and under the control of each; nothing on ranks
// that do not lead. Throws Error, UsageError and Cancelled.
std::optional<IntervenedRun> run_interventions(Ranks& ranks, const InterventionRunSettings& settings,
                                               RunObserver& observer);

}  // namespace buoy
