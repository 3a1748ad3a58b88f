// Shows what comes of run/eval.h: the score tables, what passages gain, and how to repeat it.
#pragma once

#include <filesystem>

#include "buoy/report/page_parts.h"
#include "buoy/run/eval_table.h"

namespace buoy {

struct EvalReport {
  std::string title, lead, command;
  std::vector<Fact> facts;
  const SampleTable* seen = nullptr;  // what the analyses say, over layers; data = "DATASET, CONDITION"
  std::string about = {};             // see score_json()
  ScoreNames scores = {};             // of the LaTeX table; empty: all
};

// Draws the figure "scores" and returns the sections "scores" and, where there is a condition without
// passages, "gain". Throws Error.
std::vector<Section> eval_sections(const ScoreTable& table, const FigureWriter& writer);

// Writes report.html, scores.{csv,json,tex} and figures/scores.* into `directory`. Throws
// Error.
void write_eval(const ScoreTable& table, const EvalReport& report, const std::filesystem::path& directory,
                const FigureOptions& options = {});

}  // namespace buoy
