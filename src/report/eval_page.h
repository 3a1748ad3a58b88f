// An evaluation as a page: the score tables, what passages gain, and how to repeat it.
#pragma once

#include <filesystem>

#include "report/html.h"
#include "study/eval_table.h"

namespace buoy {

struct EvalReport {
  std::string title, lead, command;
  std::vector<Fact> facts;
};

// Writes report.html, scores.{csv,json,tex} and figures/scores.*, figures/gain.* into `directory`. Throws
// Error.
void write_eval(const ScoreTable& table, const EvalReport& report, const std::filesystem::path& directory);

}  // namespace buoy
