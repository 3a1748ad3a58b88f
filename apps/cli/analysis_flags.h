// What the verbs that analyse share: which analyses, and what counts as an anchor.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "buoy/report/study_page.h"
#include "buoy/run/collect.h"

namespace buoy {

struct AnalysisFlags {
  std::vector<std::string> only;
  std::string anchor_rule = "excess";
  double epsilon = 3;
  Index k = 5;

  // Adds --only, --anchors, --epsilon and --top-anchors.
  void add_to(Verb& verb);
  // Throws UsageError for names that do not exist and for numbers without effect.
  CollectOptions options() const;
  // The first of these flags that was given; empty when none was.
  std::string given() const;

 private:
  std::optional<Verb> verb_;
};

// Writes the study with a progress bar and prints the path of its report.
void write_and_tell(const StudyResult& result, const StudyReport& report,
                    const std::filesystem::path& directory);

}  // namespace buoy
