// What the verbs that analyse share: which analyses, and what counts as an anchor.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "buoy/report/study_page.h"
#include "buoy/run/collect.h"

namespace buoy {

struct AnalysisFlags {
  std::vector<std::string> only;
  std::string anchor_rule = "excess";
  double epsilon = 3;
  Index k = 5;

  // Adds --only, --anchors, --epsilon and --top-anchors.
  void add_to(CLI::App& verb);
  // Throws UsageError for names that do not exist and for numbers without effect.
  CollectOptions options() const;
  // The first of these flags that was given; empty when none was.
  std::string given() const;

 private:
  CLI::App* verb_ = nullptr;
};

// Writes the study with a progress bar and prints the path of its report.
void write_and_tell(const StudyResult& result, const StudyReport& report,
                    const std::filesystem::path& directory);

// The verb's command line as it could be typed again, quoted where a shell needs it.
std::string command_of(const CLI::App& verb);

}  // namespace buoy
