#include "buoy/intervene/intervene_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

// The rows of one model with the condition in the place of the model, so that two conditions are compared as
// two models are.
struct ByCondition {
  SampleTable answers, seen;
};

Measurement entry(const ColumnKey& key, const SampleTable::Column& column, std::size_t i) {
  Measurement m{.quantity = key.quantity, .part = key.part, .value = column.values[i]};
  if (!column.weights.empty()) m.weight = column.weights[i];
  if (!column.nulls.empty() && std::isfinite(column.nulls[i])) m.null = column.nulls[i];
  return m;
}

// "hotpot, mask-bos" is dataset hotpot under mask-bos. The last comma parts them: conditions have none.
struct SeenData {
  std::string data, condition;
};

SeenData seen_data(const std::string& text) {
  const std::size_t at = text.rfind(", ");
  if (at == text.npos) fail("seen data \"{}\": no condition, expected \"DATASET, CONDITION\"", text);
  return {.data = text.substr(0, at), .condition = text.substr(at + 2)};
}

ByCondition by_condition(const SampleTable& answers, const SampleTable& seen, const std::string& model) {
  ByCondition out;
  for (const auto& [key, column] : answers.columns()) {
    for (std::size_t i = 0; i < column.samples.size(); ++i) {
      SampleKey sample = answers.samples()[static_cast<std::size_t>(column.samples[i])];
      if (sample.model != model) continue;
      sample.model = key.part;
      Measurement m = entry(key, column, i);
      m.part.clear();
      out.answers.add(sample, std::span(&m, 1));
    }
  }
  for (const auto& [key, column] : seen.columns()) {
    if (key.layer >= 0 || key.head >= 0) continue;
    for (std::size_t i = 0; i < column.samples.size(); ++i) {
      SampleKey sample = seen.samples()[static_cast<std::size_t>(column.samples[i])];
      if (sample.model != model) continue;
      SeenData parts = seen_data(sample.data);
      sample.model = std::move(parts.condition);
      sample.data = std::move(parts.data);
      const Measurement m = entry(key, column, i);
      out.seen.add(sample, std::span(&m, 1));
    }
  }
  return out;
}

// A score in percent lies between `low` (0; of changes −100) and 100, and so does its interval.
std::optional<Summary> find(const std::vector<Summary>& summaries, std::string_view quantity, double low) {
  const auto found = std::ranges::find(summaries, quantity, &Summary::quantity);
  if (found == summaries.end()) return std::nullopt;
  Summary score = *found;
  if (score.lo) score.lo = std::clamp(*score.lo, low, 100.0);
  if (score.hi) score.hi = std::clamp(*score.hi, low, 100.0);
  return score;
}

std::vector<Summary> difference(const SampleTable& table, const std::string& condition,
                                const std::string& from) {
  return paired_differences(table, {.a = condition, .b = from, .data = {}, .task = {}});
}

std::optional<InterventionRow> row_of(const ByCondition& tables, const std::string& model,
                                      const InterventionCondition& condition) {
  const std::vector<Summary> scores = tables.answers.summaries({.model = condition.name});
  const auto em = find(scores, "em", 0), f1 = find(scores, "f1", 0);
  if (!em || !f1) return std::nullopt;
  InterventionRow row;
  row.model = model;
  row.condition = condition.name;
  row.control = condition.control;
  row.n = em->n;
  row.em = *em;
  row.f1 = *f1;
  row.seen = tables.seen.summaries({.model = condition.name});
  if (condition.name != kNoIntervention) {
    const std::vector<Summary> changes = difference(tables.answers, condition.name, kNoIntervention);
    row.em_change = find(changes, "em", -100);
    row.f1_change = find(changes, "f1", -100);
    row.seen_change = difference(tables.seen, condition.name, kNoIntervention);
  }
  if (!condition.control.empty()) {
    const std::vector<Summary> beyond = difference(tables.answers, condition.name, condition.control);
    row.em_against_control = find(beyond, "em", -100);
    row.f1_against_control = find(beyond, "f1", -100);
  }
  return row;
}

struct CsvLine {
  const InterventionRow& row;
  const Summary& number;
  std::string_view against;
};

void append(std::string& out, const CsvLine& line) {
  const auto number = [](std::optional<double> x) { return x ? fmt::format("{:.9g}", *x) : ""; };
  const Summary& s = line.number;
  out += fmt::format("{},{},{},{},{},{},{},{:.9g},{},{}\n", csv_field(line.row.model),
                     csv_field(line.row.condition), csv_field(line.row.control), csv_field(s.quantity),
                     csv_field(s.part), csv_field(line.against), s.n, s.mean, number(s.lo), number(s.hi));
}

}  // namespace

InterventionResult make_intervention_result(const SampleTable& answers, const SampleTable& seen,
                                            std::span<const std::string> models,
                                            std::span<const InterventionCondition> conditions) {
  for (const InterventionCondition& c : conditions) {
    if (c.control.empty() ||
        std::ranges::find(conditions, c.control, &InterventionCondition::name) != conditions.end()) {
      continue;
    }
    fail("condition {}: its control {} was not run, expected among the conditions", c.name, c.control);
  }
  InterventionResult out{.rows = {}, .samples = answers, .curves = dose_curves(answers, models, conditions)};
  for (const std::string& model : models) {
    const ByCondition tables = by_condition(answers, seen, model);
    for (const InterventionCondition& condition : conditions) {
      if (auto row = row_of(tables, model, condition)) out.rows.push_back(std::move(*row));
    }
  }
  return out;
}

std::string intervene_csv(const InterventionResult& result) {
  std::string out = "model,condition,control,quantity,part,against,n,mean,lo,hi\n";
  for (const InterventionRow& row : result.rows) {
    append(out, {row, row.em, ""});
    append(out, {row, row.f1, ""});
    for (const auto* change : {&row.em_change, &row.f1_change}) {
      if (*change) append(out, {row, **change, kNoIntervention});
    }
    for (const auto* beyond : {&row.em_against_control, &row.f1_against_control}) {
      if (*beyond) append(out, {row, **beyond, row.control});
    }
    for (const Summary& s : row.seen) append(out, {row, s, ""});
    for (const Summary& s : row.seen_change) append(out, {row, s, kNoIntervention});
  }
  for (const DoseCurve& curve : result.curves) {
    InterventionRow row;
    row.model = curve.model;
    row.condition = curve.intervention;
    row.control = curve.control;
    append(out, {row, curve.slope, ""});
    if (curve.slope_beyond) append(out, {row, *curve.slope_beyond, curve.control});
    if (!curve.control_slope) continue;
    row.condition = curve.control;
    row.control.clear();
    append(out, {row, *curve.control_slope, ""});
  }
  return out;
}

std::string intervene_text(const InterventionResult& result) {
  const auto change = [](const std::optional<Summary>& s) {
    if (!s) return std::string("–");
    if (!s->lo || !s->hi) return fmt::format("{:+.1f}", s->mean);
    return fmt::format("{:+.1f} [{:+.1f}, {:+.1f}]", s->mean, *s->lo, *s->hi);
  };
  const auto line = [](const std::array<std::string, 6>& cells) {
    return fmt::format("{:<12} {:<20} {:>6} {:>24} {:>24} {:>5}\n", cells[0], cells[1], cells[2], cells[3],
                       cells[4], cells[5]);
  };
  std::string text = "Exact match, % (paired changes with 95 % intervals)\n";
  text += line({"model", "intervention", "EM", "against none", "against its control", "n"});
  for (const InterventionRow& row : result.rows) {
    text += line({row.model, row.condition, fmt::format("{:.1f}", row.em.mean), change(row.em_change),
                  change(row.em_against_control), fmt::to_string(row.n)});
  }
  for (const DoseCurve& curve : result.curves) {
    const auto slope = [](const std::optional<Summary>& s) {
      return s && s->lo && s->hi ? fmt::format("{:+.2f} [{:+.2f}, {:+.2f}]", s->mean, *s->lo, *s->hi) : "–";
    };
    text += fmt::format("{}, {}: {} points for each one more; {}: {}; difference {}\n", curve.model,
                        curve.intervention, slope(curve.slope),
                        curve.control.empty() ? "no control" : curve.control, slope(curve.control_slope),
                        slope(curve.slope_beyond));
  }
  return text;
}

}  // namespace buoy
