// Shows a whole study: the first screen says what was asked and found; then questions, anchors in words, and
// everything else folded by topic.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "buoy/claims/claims.h"
#include "buoy/intervene/intervene_table.h"
#include "buoy/report/page_parts.h"
#include "buoy/run/collect.h"
#include "buoy/run/eval_table.h"
#include "buoy/stress/stress_table.h"

namespace buoy {

struct StudyReport {
  std::string title, lead;
  std::string command;      // that repeats the study
  std::vector<Fact> facts;  // data, settings, versions
  // What else was done with the same models; nothing where it was not.
  std::vector<ClaimResult> claims = {};
  std::optional<ScoreTable> answers = {};
  std::optional<StressResult> stress = {};
  std::optional<InterventionResult> interventions = {};
  std::vector<LinksBlock::Link> explored = {};  // pages of the examples' whole runs; already written
};

struct StudyOptions {
  FigureOptions figures = {};  // their models are those of the result, whatever is given
  FigureProgress progress = {};
};

// Writes report.html, summaries.csv, samples.csv, questions.csv, where there are verdicts claims.csv, and
// figures/*.{pdf,svg,png,csv} into `directory`, which is made if need be; the page comes last. Throws Error
// naming what cannot be written.
void write_study(const StudyResult& result, const StudyReport& report, const std::filesystem::path& directory,
                 const StudyOptions& options = {});

}  // namespace buoy
