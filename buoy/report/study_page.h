// Writes a study: figures, tables and one page that explains them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "buoy/report/html.h"
#include "buoy/run/collect.h"

namespace buoy {

struct StudyReport {
  std::string title, lead;
  std::string command;      // that repeats the study
  std::vector<Fact> facts;  // data, settings, versions
  // Of what else was done with the same models: `first` comes before the analyses, `more` after them.
  std::vector<Section> first, more;
};

// Told the name of every figure before it is drawn and how many there are.
using FigureProgress = std::function<void(const std::string& name, Index total)>;

// Writes report.html, summaries.csv, samples.csv and figures/*.{pdf,svg,png,csv} into `directory`, which is
// made if need be; the page comes last. Throws Error naming what cannot be written.
void write_study(const StudyResult& result, const StudyReport& report, const std::filesystem::path& directory,
                 const FigureProgress& progress = {});

}  // namespace buoy
