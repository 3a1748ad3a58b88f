#include "apps/cli/analysis_flags.h"

#include <algorithm>

#include "apps/cli/figure_flags.h"
#include "buoy/base/error.h"

namespace buoy {

void AnalysisFlags::add_to(Verb& verb) {
  verb_ = verb;
  const std::string group = "Analyses";
  verb.option("--only", &only, "Only these").split_at(',').choices(analysis_names()).group(group);
  verb.option("--anchors", &anchor_rule, "What counts as an anchor")
      .choices({"excess", "sigma", "offset", "topk"})

      .group(group);
  verb.option("--epsilon", &epsilon, "Threshold of excess, sigma and offset").above(0).group(group);
  verb.option("--min-lift", &min_lift, "What an anchor of the rule excess receives at least, times its null")
      .at_least(0)
      .group(group);
  verb.option("--top-anchors", &k, "How many with --anchors topk").at_least(1).group(group);
}

CollectOptions AnalysisFlags::options() const {
  CollectOptions made;
  for (const Analysis& analysis : analyses()) {
    if (only.empty() || std::ranges::find(only, analysis.name) != only.end())
      made.analyses.push_back(&analysis);
  }
  const bool topk = anchor_rule == "topk";
  if (topk && verb_->given("--epsilon")) fail_usage("--epsilon has no effect with --anchors topk");
  if (!topk && verb_->given("--top-anchors"))
    fail_usage("--top-anchors has no effect without --anchors topk");
  if (anchor_rule != "excess" && verb_->given("--min-lift"))
    fail_usage("--min-lift has no effect with --anchors {}", anchor_rule);
  made.analysis.anchors = {
      .rule = *parse_anchor_rule(anchor_rule), .epsilon = epsilon, .min_lift = min_lift, .k = k};
  return made;
}

std::string AnalysisFlags::given() const {
  for (const char* flag : {"--only", "--anchors", "--epsilon", "--min-lift", "--top-anchors"}) {
    if (verb_->given(flag)) return flag;
  }
  return "";
}

}  // namespace buoy
