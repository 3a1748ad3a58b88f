// Gains over columns that count the same: of cell means, and of one kind of model over another, with
// intervals.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "buoy/run/eval_table.h"

namespace buoy {

// What one item gains, in points of percent, in the order of kScoreNames.
struct ItemGain {
  std::string column, question;
  double value[3] = {};
};

// The gain of each column over its items, of the mean of columns, and over all items. Questions are resampled
// together, wherever they stand (studentised bootstrap, docs/definitions.md). Columns without items have
// none.
struct ColumnGains {
  std::vector<std::optional<ScoreGain>> columns;
  std::optional<ScoreGain> cells, items;
};
ColumnGains column_gains(const std::vector<ItemGain>& gains, const std::vector<std::string>& columns);

}  // namespace buoy
