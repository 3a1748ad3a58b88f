// What an evaluation comes to: scores by model, dataset and condition, averages, and what passages gain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buoy/analysis/sample_table.h"
#include "buoy/run/run_store.h"

namespace buoy {

inline constexpr const char* kScoreNames[] = {"em", "substring", "f1"};

// Scores in percent, in the order of kScoreNames.
struct ScoreCell {
  Index n = 0;
  double mean[3] = {}, standard_error[3] = {};
};

// What passages add, paired by item, in points of percent.
struct ScoreGain {
  Index n = 0;
  double mean[3] = {}, low[3] = {}, high[3] = {};
};

// One row of the table: a model under a condition.
struct ScoreRow {
  std::string model, condition;
  std::vector<std::optional<ScoreCell>> cells;    // one per column
  std::optional<ScoreCell> cell_mean, item_mean;  // unweighted mean of the cells; over all items
  std::vector<std::optional<ScoreGain>> gains;    // over `baseline`, one per column, then over all items
  std::optional<ScoreGain> cell_gain = {};        // of the mean of the cells
};

// How much more passages give to masked models than to autoregressive ones: the mean gain of the ones less
// that of the others, item by item, over items that all of them answered under both conditions.
struct GainContrast {
  std::string condition;
  std::vector<std::optional<ScoreGain>> gains;    // one per column
  std::optional<ScoreGain> cell_gain, item_gain;  // of the mean of cells; over all items
};

struct ScoreTable {
  std::vector<std::string> columns;          // datasets; a dataset of several tasks has one for each
  std::string baseline;                      // the condition that gains are measured against; empty: none
  std::vector<ScoreRow> rows;                // in the order of models and conditions given
  std::vector<GainContrast> contrasts = {};  // one per condition; none unless there are models of both kinds
};

struct ScoreOrder {
  std::vector<std::string> models, data, conditions;
  std::vector<std::string> masked = {}, autoregressive = {};  // of the models, where that is known
};

// Intervals and standard errors are over items; the standard error of a mean of cells takes cells as
// independent.
ScoreTable make_score_table(const std::vector<SampleResult>& results, const ScoreOrder& order);

// The scores of every sample in percent, by name, with the condition as part.
SampleTable answer_table(const std::vector<SampleResult>& results);

// The same, and "same_prompt" = 1, with the condition as part, of samples whose prompt under it is the one
// under "none": a condition that changes nothing measures nothing.
SampleTable passage_answer_table(const std::vector<SampleResult>& results);

// For a terminal; as CSV with every number; as JSON; as LaTeX in the shape of the paper's first table.
// Text and LaTeX show the scores named, in the order of kScoreNames, all where none is. `about` is a JSON
// object whose members stand before the table's, to say where it comes from; may be empty.
using ScoreNames = std::vector<std::string>;
std::string score_text(const ScoreTable& table, const ScoreNames& scores = {});
std::string score_csv(const ScoreTable& table);
std::string score_json(const ScoreTable& table, const std::string& about = "");
std::string score_latex(const ScoreTable& table, const ScoreNames& scores = {});

// One JSON line per sample: what it was asked, from which prompt and passages, what it answered, its scores,
// commit steps and timing, and the settings, versions and hardware of the run. docs/eval.md names the fields.
class RunReader;
std::string samples_jsonl(const RunReader& run);

}  // namespace buoy
