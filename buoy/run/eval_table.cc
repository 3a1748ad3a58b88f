#include "buoy/run/eval_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "buoy/base/error.h"

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
      }
      if (row.item_mean) table.rows.push_back(std::move(row));
    }
  }
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
