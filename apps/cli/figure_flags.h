// What the verbs that draw share: which figures, as what; and the writing of a report.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "buoy/report/study_page.h"

namespace buoy {

struct FigureFlags {
  std::vector<std::string> figures;  // topics; empty: all
  std::vector<std::string> formats = {"pdf", "svg", "png"};

  // Adds --figures, with these topics, and --format.
  void add_to(Verb& verb, std::vector<std::string> topics);
  // Throws UsageError for a figure of an analysis that is not among those that are done.
  FigureOptions options(const std::vector<const Analysis*>& done) const;
};

// Every analysis by name.
std::vector<std::string> analysis_names();

// Writes the study with a progress bar and prints the path of its report. Where no font is installed, says
// that there are tables only. Throws Cancelled after Ctrl-C.
void write_and_tell(const StudyResult& result, StudyReport report, const std::filesystem::path& directory,
                    const FigureOptions& figures);

}  // namespace buoy
