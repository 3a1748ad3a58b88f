// What the verbs that intervene share: where, with which anchors, and which heads count as retrieval heads.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "buoy/engine/intervention_run.h"

namespace buoy {

class InterventionFlags {
 public:
  // Adds --at-layers, --at-heads, --at-steps, --per-head-anchors, --anchors-from, --spare-evidence,
  // --pin-epsilon, --rank-data and --rank-items.
  void add_to(Verb& verb);

  // These interventions where the flags say. Throws UsageError for flags that mean nothing to any of them.
  InterventionChoice choice(const std::vector<std::string>& interventions) const;

 private:
  void check_effects(const std::vector<std::string>& interventions) const;

  InterventionChoice given_;
  std::string from_ = "same", rank_data_;
  std::optional<Verb> verb_;
};

}  // namespace buoy
