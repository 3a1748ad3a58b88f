// What the verbs that analyse share: which analyses, and what counts as an anchor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "buoy/run/collect.h"

namespace buoy {

struct AnalysisFlags {
  std::vector<std::string> only;
  std::string anchor_rule = "excess";
  double epsilon = 3, min_lift = 2;
  Index k = 5;

  // Adds --only, --anchors, --epsilon, --min-lift and --top-anchors.
  void add_to(Verb& verb);
  // Throws UsageError for names that do not exist and for numbers without effect.
  CollectOptions options() const;
  // The first of these flags that was given; empty when none was.
  std::string given() const;

 private:
  std::optional<Verb> verb_;
};

}  // namespace buoy
