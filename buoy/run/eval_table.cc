#include "buoy/run/eval_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "buoy/base/error.h"
#include "buoy/run/score_gain.h"

namespace buoy {
namespace {

// The column of a sample: its dataset, or its task where a dataset has several.
class Columns {
 public:
  Columns(const std::vector<SampleResult>& results, const std::vector<std::string>& data) {
    std::map<std::string, std::set<std::string>> tasks;
    for (const SampleResult& r : results) tasks[r.key.data].insert(r.task);
    for (const std::string& name : data) {
      const bool several = tasks[name].size() > 1;
      for (const std::string& task : tasks[name]) {
        const std::string column = !several ? name : data.size() == 1 ? task : name + "/" + task;
        of_[{name, task}] = column;
        names.push_back(column);
      }
    }
  }

  const std::string& of(const SampleResult& r) const { return of_.at({r.key.data, r.task}); }

  std::vector<std::string> names;

 private:
  std::map<std::pair<std::string, std::string>, std::string> of_;
};

Measurements scores_of(const SampleResult& r) {
  const double values[] = {r.score.em, r.score.substring, r.score.f1};
  Measurements made;
  for (int i = 0; i < 3; ++i) made.push_back({.quantity = kScoreNames[i], .value = 100 * values[i]});
  return made;
}

SampleKey answer_key(const SampleResult& r) {
  return {.model = r.key.model,
          .data = r.key.data,
          .task = r.task,
          .sample = r.key.sample,
          .question = r.question};
}

int score_index(const std::string& quantity) {
  return static_cast<int>(std::ranges::find(kScoreNames, quantity) - std::begin(kScoreNames));
}

std::optional<ScoreCell> cell_of(const std::vector<Summary>& summaries) {
  if (summaries.empty()) return {};
  ScoreCell cell;
  for (const Summary& s : summaries) {
    const int i = score_index(s.quantity);
    cell.n = s.n;
    cell.mean[i] = s.mean;
    cell.standard_error[i] = s.std / std::sqrt(static_cast<double>(s.n));
  }
  return cell;
}

std::optional<ScoreGain> gain_of(const std::vector<Summary>& differences) {
  if (differences.empty()) return {};
  ScoreGain gain;
  for (const Summary& s : differences) {
    const int i = score_index(s.quantity);
    gain.n = s.n;
    gain.mean[i] = s.mean;
    gain.low[i] = std::max(-100.0, s.lo.value_or(s.mean));
    gain.high[i] = std::min(100.0, s.hi.value_or(s.mean));
  }
  return gain;
}

std::optional<ScoreCell> mean_of(const std::vector<std::optional<ScoreCell>>& cells) {
  ScoreCell mean;
  double count = 0;
  for (const auto& cell : cells) {
    if (!cell) continue;
    count += 1;
    mean.n += cell->n;
    for (int i = 0; i < 3; ++i) {
      mean.mean[i] += cell->mean[i];
      mean.standard_error[i] += cell->standard_error[i] * cell->standard_error[i];
    }
  }
  if (count == 0) return {};
  for (int i = 0; i < 3; ++i) {
    mean.mean[i] /= count;
    mean.standard_error[i] = std::sqrt(mean.standard_error[i]) / count;
  }
  return mean;
}

// Scores of every item that has both conditions: with passages less without.
using GainOf = std::map<std::pair<std::string, std::string>, ItemGain>;  // by data and sample

GainOf gains_of(const std::vector<SampleResult>& results, const Columns& columns, const std::string& model,
                const std::string& condition, const std::string& baseline) {
  std::map<std::pair<std::string, std::string>, const SampleResult*> without;
  for (const SampleResult& r : results) {
    if (r.key.model == model && r.key.condition == baseline) without[{r.key.data, r.key.sample}] = &r;
  }
  GainOf gains;
  for (const SampleResult& r : results) {
    if (r.key.model != model || r.key.condition != condition) continue;
    const auto base = without.find({r.key.data, r.key.sample});
    if (base == without.end()) continue;
    const AnswerScore &with = r.score, &none = base->second->score;
    gains[{r.key.data, r.key.sample}] = {
        .column = columns.of(r),
        .question = r.question,
        .value = {100 * (with.em - none.em), 100 * (with.substring - none.substring),
                  100 * (with.f1 - none.f1)}};
  }
  return gains;
}

std::vector<ItemGain> values_of(const GainOf& gains) {
  std::vector<ItemGain> values;
  for (const auto& [key, gain] : gains) values.push_back(gain);
  return values;
}

// No score gains more than 100 points, whatever an interval says.
std::optional<ScoreGain> in_range(std::optional<ScoreGain> gain) {
  for (int s = 0; gain && s < 3; ++s) {
    gain->low[s] = std::max(-100.0, gain->low[s]);
    gain->high[s] = std::min(100.0, gain->high[s]);
  }
  return gain;
}

// Mean gains of the masked models less those of the others, over items that every one of them has.
std::vector<ItemGain> contrast_of(const std::vector<GainOf>& masked, const std::vector<GainOf>& others) {
  std::vector<ItemGain> made;
  const auto add = [](ItemGain& total, const ItemGain& gain, double weight) {
    for (int s = 0; s < 3; ++s) total.value[s] += weight * gain.value[s];
  };
  for (const auto& [key, first] : masked.front()) {
    const auto has_it = [&item = key](const GainOf& gains) { return gains.contains(item); };
    if (!std::ranges::all_of(masked, has_it) || !std::ranges::all_of(others, has_it)) continue;
    ItemGain total{.column = first.column, .question = first.question};
    for (const GainOf& gains : masked) add(total, gains.at(key), 1 / static_cast<double>(masked.size()));
    for (const GainOf& gains : others) add(total, gains.at(key), -1 / static_cast<double>(others.size()));
    made.push_back(std::move(total));
  }
  return made;
}

void add_contrasts(const std::vector<SampleResult>& results, const Columns& columns, const ScoreOrder& order,
                   ScoreTable& table) {
  if (table.baseline.empty() || order.masked.empty() || order.autoregressive.empty()) return;
  for (const std::string& condition : order.conditions) {
    if (condition == table.baseline) continue;
    const auto all = [&](const std::vector<std::string>& models) {
      std::vector<GainOf> gains;
      for (const std::string& model : models)
        gains.push_back(gains_of(results, columns, model, condition, table.baseline));
      return gains;
    };
    const std::vector<ItemGain> items = contrast_of(all(order.masked), all(order.autoregressive));
    if (items.empty()) continue;
    const ColumnGains gains = column_gains(items, table.columns);
    table.contrasts.push_back(
        {.condition = condition, .gains = gains.columns, .cell_gain = gains.cells, .item_gain = gains.items});
  }
}

}  // namespace

ScoreTable make_score_table(const std::vector<SampleResult>& results, const ScoreOrder& order) {
  const Columns columns(results, order.data);
  ScoreTable table{.columns = columns.names};
  const bool has_none = std::ranges::find(order.conditions, "none") != order.conditions.end();
  if (has_none && order.conditions.size() > 1) table.baseline = "none";
  for (const std::string& model : order.models) {
    // Conditions take the place of models in the sample table, so that they pair by item.
    SampleTable samples;
    for (const SampleResult& r : results) {
      if (r.key.model != model) continue;
      samples.add({.model = r.key.condition,
                   .data = r.key.data,
                   .task = columns.of(r),
                   .sample = r.key.sample,
                   .question = r.question},
                  scores_of(r));
    }
    for (const std::string& condition : order.conditions) {
      ScoreRow row{.model = model, .condition = condition};
      for (const std::string& column : table.columns) {
        row.cells.push_back(cell_of(samples.summaries({.model = condition, .task = column})));
      }
      row.cell_mean = mean_of(row.cells);
      row.item_mean = cell_of(samples.summaries({.model = condition}));
      if (!table.baseline.empty() && condition != table.baseline) {
        for (const std::string& column : table.columns) {
          row.gains.push_back(
              gain_of(paired_differences(samples, {.a = condition, .b = table.baseline, .task = column})));
        }
        row.gains.push_back(gain_of(paired_differences(samples, {.a = condition, .b = table.baseline})));
        row.cell_gain =
            in_range(column_gains(values_of(gains_of(results, columns, model, condition, table.baseline)),
                                  table.columns)
                         .cells);
      }
      if (row.item_mean) table.rows.push_back(std::move(row));
    }
  }
  add_contrasts(results, columns, order, table);
  return table;
}

SampleTable answer_table(const std::vector<SampleResult>& results) {
  SampleTable table;
  for (const SampleResult& r : results) {
    Measurements scores = scores_of(r);
    for (Measurement& m : scores) m.part = r.key.condition;
    table.add(answer_key(r), scores);
  }
  return table;
}

SampleTable passage_answer_table(const std::vector<SampleResult>& results) {
  SampleTable table = answer_table(results);
  std::map<SampleKey, std::string_view> bare;  // prompts without passages
  for (const SampleResult& r : results) {
    if (r.key.condition == "none") bare.emplace(answer_key(r), r.prompt);
  }
  for (const SampleResult& r : results) {
    const auto without = bare.find(answer_key(r));
    if (r.key.condition == "none" || without == bare.end() || without->second != r.prompt) continue;
    table.add(answer_key(r), Measurements{{.quantity = "same_prompt", .part = r.key.condition, .value = 1}});
  }
  return table;
}

}  // namespace buoy
