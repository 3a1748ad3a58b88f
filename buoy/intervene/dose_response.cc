#include "buoy/intervene/dose_response.h"

#include <algorithm>
#include <map>
#include <set>

#include "buoy/analysis/least_squares.h"
#include "buoy/intervene/intervene_table.h"

namespace buoy {
namespace {

// Exact match of one sample by condition.
using ConditionScores = std::map<std::string, double>;

std::map<SampleKey, ConditionScores> em_by_sample(const SampleTable& answers, const std::string& model) {
  std::map<SampleKey, ConditionScores> scores;
  for (const auto& [key, column] : answers.columns()) {
    if (key.quantity != "em") continue;
    for (std::size_t i = 0; i < column.samples.size(); ++i) {
      const SampleKey& sample = answers.samples()[static_cast<std::size_t>(column.samples[i])];
      if (sample.model == model) scores[sample][key.part] = column.values[i];
    }
  }
  return scores;
}

// The conditions of one kind by level; level 0 is none.
std::map<Index, std::string> levels_of(std::span<const InterventionCondition> conditions,
                                       const std::string& kind) {
  std::map<Index, std::string> levels;
  for (const InterventionCondition& c : conditions) {
    if (c.kind == kind && c.level && *c.level > 0) levels[*c.level] = c.name;
  }
  if (!levels.empty()) levels[0] = kNoIntervention;
  return levels;
}

// Adds what one sample has under a kind of intervention, as if the kind were the model: changes with the
// level as part, and the slope.
void add_sample(SampleTable& table, const SampleKey& sample, const ConditionScores& scores,
                const std::string& kind, const std::map<Index, std::string>& levels) {
  SampleKey key = sample;
  key.model = kind;
  std::vector<Point> points;
  Measurements row;
  const auto none = scores.find(kNoIntervention);
  for (const auto& [level, name] : levels) {
    const auto found = scores.find(name);
    if (found == scores.end()) continue;
    points.push_back({static_cast<double>(level), found->second});
    if (level == 0 || none == scores.end()) continue;
    row.push_back({.quantity = "em_change", .part = name, .value = found->second - none->second});
  }
  const std::optional<double> line = points.size() == levels.size() ? slope(points) : std::nullopt;
  if (line) row.push_back({.quantity = "em_slope", .value = *line});
  if (!row.empty()) table.add(key, row);
}

std::optional<Summary> find_summary(const std::vector<Summary>& all, std::string_view quantity,
                                    const std::string& part) {
  const auto found =
      std::ranges::find_if(all, [&](const Summary& s) { return s.quantity == quantity && s.part == part; });
  if (found == all.end()) return std::nullopt;
  Summary made = *found;
  if (quantity == "em_change" && made.lo) made.lo = std::clamp(*made.lo, -100.0, 100.0);
  if (quantity == "em_change" && made.hi) made.hi = std::clamp(*made.hi, -100.0, 100.0);
  return made;
}

std::optional<DoseCurve> curve_of(const std::map<SampleKey, ConditionScores>& scores, const std::string& kind,
                                  const std::string& control,
                                  std::span<const InterventionCondition> conditions) {
  const std::map<Index, std::string> levels = levels_of(conditions, kind);
  const std::map<Index, std::string> beside = levels_of(conditions, control);
  if (levels.size() < 3) return std::nullopt;  // none and two more
  SampleTable table;
  for (const auto& [sample, by_condition] : scores) {
    add_sample(table, sample, by_condition, kind, levels);
    if (!beside.empty()) add_sample(table, sample, by_condition, control, beside);
  }
  const std::vector<Summary> own = table.summaries({.model = kind}),
                             other = table.summaries({.model = control});
  const std::optional<Summary> line = find_summary(own, "em_slope", "");
  if (!line) return std::nullopt;
  DoseCurve curve{.model = {}, .intervention = kind, .control = control, .points = {}, .slope = *line};
  for (const auto& [level, name] : levels) {
    if (level == 0) continue;
    DosePoint point{.level = level, .change = find_summary(own, "em_change", name)};
    const auto same = beside.find(level);
    if (same != beside.end()) point.control_change = find_summary(other, "em_change", same->second);
    curve.points.push_back(std::move(point));
  }
  if (beside.size() < 3) return curve;
  curve.control_slope = find_summary(other, "em_slope", "");
  curve.slope_beyond = find_summary(
      paired_differences(table, {.a = kind, .b = control, .data = {}, .task = {}}), "em_slope", "");
  return curve;
}

}  // namespace

std::vector<DoseCurve> dose_curves(const SampleTable& answers, std::span<const std::string> models,
                                   std::span<const InterventionCondition> conditions) {
  std::map<std::string, std::string> control_kind;  // by the name of a control
  for (const InterventionCondition& c : conditions) control_kind[c.name] = c.kind;
  std::vector<DoseCurve> curves;
  for (const std::string& model : models) {
    const std::map<SampleKey, ConditionScores> scores = em_by_sample(answers, model);
    std::set<std::string> seen;
    for (const InterventionCondition& c : conditions) {
      const bool is_control =
          std::ranges::find(conditions, c.name, &InterventionCondition::control) != conditions.end();
      if (!c.level || is_control || !seen.insert(c.kind).second) continue;
      auto curve = curve_of(scores, c.kind, c.control.empty() ? "" : control_kind[c.control], conditions);
      if (!curve) continue;
      curve->model = model;
      curves.push_back(std::move(*curve));
    }
  }
  return curves;
}

}  // namespace buoy
