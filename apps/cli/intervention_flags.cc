#include "apps/cli/intervention_flags.h"

#include <algorithm>

#include "buoy/base/error.h"

namespace buoy {

void InterventionFlags::add_to(Verb& verb) {
  verb_ = verb;
  const std::string group = "Interventions";
  verb.option("--at-layers", &given_.layers, "Where to intervene: all, or a list such as 0,4-7")

      .group(group);
  verb.option("--at-heads", &given_.heads, "Heads, likewise").group(group);
  verb.option("--at-steps", &given_.steps, "all, every:4, or a list such as 0,3,7")

      .group(group);
  verb.flag("--per-head-anchors", &given_.per_head,
            "mask-anchors, mask-random: each head has its own anchors")
      .group(group);
  verb.option("--anchors-from", &from_,
              "mask-anchors, mask-random: anchors of the same step, or the previous")
      .choices({"same", "previous"})

      .group(group);
  verb.flag("--spare-evidence", &given_.spare_evidence,
            "mask-anchors, mask-random: neither anchors nor those in their place are evidence")
      .group(group);
  verb.option("--pin-epsilon", &given_.epsilon,
              "pin-anchors, press-anchors: an anchor's excess is above this many deviations")
      .above(0)

      .group(group);
  verb.option("--rank-data", &rank_data_,
              "cut-heads: rank heads on this dataset; default: the items after those of --limit")
      .group(group);
  verb.option("--rank-items", &given_.rank_items, "cut-heads: on so many items")
      .at_least(1)

      .group(group);
}

InterventionChoice InterventionFlags::choice(const std::vector<std::string>& interventions) const {
  check_effects(interventions);
  InterventionChoice made = given_;
  made.interventions = interventions;
  made.from = parse_anchors_from(from_);
  made.rank_data = rank_data_;
  return made;
}

void InterventionFlags::check_effects(const std::vector<std::string>& interventions) const {
  std::vector<InterventionSettings> settings;
  for (const std::string& text : interventions) {
    for (InterventionSettings& one : parse_intervention(text)) settings.push_back(std::move(one));
  }
  struct Need {
    const char *flag, *what;
    bool (*by)(const Intervention& kind);
  };
  const auto any = [](const Intervention&) { return true; };
  const auto anchors = [](const Intervention& kind) { return kind.needs_unmodified; };
  const auto pins = [](const Intervention& kind) { return kind.correct != nullptr; };
  const auto ranking = [](const Intervention& kind) { return kind.needs_ranking; };
  const Need needs[] = {{"--at-layers", "an intervention", any},
                        {"--at-heads", "an intervention", any},
                        {"--at-steps", "an intervention", any},
                        {"--per-head-anchors", "mask-anchors or mask-random", anchors},
                        {"--anchors-from", "mask-anchors or mask-random", anchors},
                        {"--spare-evidence", "mask-anchors or mask-random", anchors},
                        {"--pin-epsilon", "pin-anchors or press-anchors", pins},
                        {"--rank-data", "cut-heads or cut-random", ranking},
                        {"--rank-items", "cut-heads or cut-random", ranking}};
  for (const Need& need : needs) {
    const auto meant = [&](const InterventionSettings& s) { return need.by(*s.kind); };
    if (verb_->given(need.flag) && std::ranges::none_of(settings, meant)) {
      fail_usage("{} has no effect without {}", need.flag, need.what);
    }
  }
}

}  // namespace buoy
