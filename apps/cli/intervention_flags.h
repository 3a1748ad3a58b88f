// What the verbs that intervene share: where, with which anchors, and which heads count as retrieval heads.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/cli/answering.h"
#include "buoy/intervene/intervention.h"

namespace buoy {

struct InterventionFlags {
  std::string layers = "all", heads = "all", steps = "all";
  bool per_head = false;
  std::string from = "same";
  double epsilon = 3;
  std::string rank_data;
  Index rank_items = 50;

  // Adds --at-layers, --at-heads, --at-steps, --per-head-anchors, --anchors-from, --pin-epsilon, --rank-data
  // and --rank-items.
  void add_to(CLI::App& verb);

  // The interventions that the texts name, each once. Throws UsageError, also for layers and heads that a
  // model does not have, for sampler settings that leave part of a pass without an intervention, and for
  // flags that mean nothing to any of them.
  std::vector<InterventionSettings> parse(const std::vector<std::string>& texts, const RunFlags& run,
                                          const std::vector<RunFlags::Named>& models) const;

  // What else the answers depend on.
  Json to_json() const;

  // Items to rank heads on that are not among those evaluated: of --rank-data, or those that follow the
  // evaluated ones. Throws UsageError when there are none. Nothing where no intervention needs a ranking.
  std::vector<QaItem> held_out(const std::vector<NamedItems>& data,
                               const std::vector<InterventionSettings>& settings) const;

 private:
  void check_effects(const std::vector<InterventionSettings>& settings) const;

  CLI::App* verb_ = nullptr;
};

// Gives those that need it the model's heads, of the layers and heads they name, by how much of the answer
// each copies from the evidence, ties by the weight that it has on the evidence (docs/definitions.md,
// "Retrieval heads").
void rank_heads(const TracingModel& model, const std::vector<QaItem>& held_out, Index batch_size,
                std::vector<InterventionSettings>& settings);

}  // namespace buoy
