#include "buoy/report/intervene_dose.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "buoy/report/number_text.h"

namespace buoy {
namespace {

// Exact match over levels, from no intervention on.
Series level_series(const DoseCurve& curve, std::optional<Summary> DosePoint::*change, std::string name) {
  Series s{.name = std::move(name), .x = {0}, .y = {0}, .low = {0}, .high = {0}, .markers = Markers::kDots};
  for (const DosePoint& p : curve.points) {
    const std::optional<Summary>& here = p.*change;
    if (!here) continue;
    s.x.push_back(static_cast<double>(p.level));
    s.y.push_back(here->mean);
    s.low.push_back(here->lo.value_or(here->mean));
    s.high.push_back(here->hi.value_or(here->mean));
  }
  return s;
}

std::string slope_text(const std::optional<Summary>& s) {
  return s ? change_text(*s) : "–";
}

// What a dose is called on the page.
struct DoseText {
  Quantity quantity;
  const char *label, *definition;
  double scale = 1;  // of the number on the page
};
constexpr DoseText kDoseTexts[] = {
    {{"dose_keys", "hidden"}, "keys hidden", "per layer and pass"},
    {{"dose_keys", "evidence"}, "of them evidence", "per layer and pass"},
    {{"dose_keys", "pressed"}, "keys pressed", "per layer and pass"},
    {{"dose_keys", "raised"}, "keys raised", "per layer and pass that presses any, else 0"},
    {{"dose_bias", ""}, "mean |bias|", "of the keys pressed and raised"},
    {{"dose_mass", ""}, "attention moved, %", "of all attention, per layer and pass", 100},
    {{"dose_unsettled", ""}, "out of reach", "share of layers and passes that were left as they are"},
    {{"dose_unmatched", "third"}, "another third", "share of stand-ins in another third of the places"},
    {{"dose_unmatched", "region"}, "another region", "share of stand-ins in another kind of region"},
    {{"dose_unmatched", "class"}, "another class", "share of stand-ins of another class"},
    {{"dose_unmatched", "evidence"}, "another evidence status", "share of stand-ins"},
    {{"dose_unmatched", "missing"}, "without a stand-in", "share of keys"},
};

const Summary* dose_of(const InterventionRow* row, const Quantity& quantity) {
  if (row == nullptr) return nullptr;
  const auto found = std::ranges::find_if(
      row->seen, [&](const Summary& s) { return s.quantity == quantity.name && s.part == quantity.part; });
  return found == row->seen.end() ? nullptr : &*found;
}

const InterventionRow* row_named(const InterventionResult& result, const std::string& model,
                                 const std::string& condition) {
  const auto found = std::ranges::find_if(
      result.rows, [&](const InterventionRow& r) { return r.model == model && r.condition == condition; });
  return found == result.rows.end() ? nullptr : &*found;
}

std::string dose_text(const Summary* dose, double scale) {
  if (dose == nullptr) return "–";
  Summary shown = *dose;
  shown.mean *= scale;
  if (shown.lo) shown.lo = *shown.lo * scale;
  if (shown.hi) shown.hi = *shown.hi * scale;
  return interval_text(shown);
}

// Who gave way in nothing need not be told so line by line.
bool worth_a_line(const Summary* own, const Summary* other) {
  if (own == nullptr && other == nullptr) return false;
  return own != nullptr || other->quantity != "dose_unmatched" || other->mean > 0;
}

bool controls_another(const InterventionResult& result, const InterventionRow& row) {
  return std::ranges::any_of(result.rows, [&](const InterventionRow& r) {
    return r.model == row.model && r.control == row.condition;
  });
}

}  // namespace

std::vector<StudyFigure> dose_response_figures(const InterventionResult& result, const FigureWriter& writer) {
  if (result.curves.empty()) return {};
  const std::vector<std::string> models = names_in(result.curves, &DoseCurve::model);
  const std::span<const std::string> drawn =
      std::span(models).first(std::min(kMostDoseModels, models.size()));
  const std::string left_out =
      drawn.size() == models.size()
          ? ""
          : fmt::format(" The first {} of {} models; the table has all.", drawn.size(), models.size());
  Curves curves{.note = "Bands: 95 % bootstrap intervals over questions. Faint: the control." + left_out,
                .width = kTextWidth,
                .panels_across = 2,
                .x_title = "keys or heads touched",
                .y_title = "change of exact match, points"};
  for (const std::string& intervention : names_in(result.curves, &DoseCurve::intervention)) {
    CurvePanel panel{.title = intervention, .series = {}};
    for (const DoseCurve& c : result.curves) {
      if (c.intervention != intervention || std::ranges::find(drawn, c.model) == drawn.end()) continue;
      Series own = level_series(c, &DosePoint::change, c.model);
      Series control = level_series(c, &DosePoint::control_change, c.model + ", control");
      own.color = control.color = writer.color_of(c.model);
      control.strength = 0.45;
      panel.series.push_back(std::move(own));
      if (control.x.size() > 1) panel.series.push_back(std::move(control));
    }
    if (!panel.series.empty()) curves.panels.push_back(std::move(panel));
  }
  curves.panels_across = std::min<Index>(2, std::ssize(curves.panels));
  std::string csv = figure_csv(curves);
  return {{.name = "interventions_levels",
           .figure = std::move(curves),
           .csv = std::move(csv),
           .caption = "The more is touched, the more is lost, or not: exact match against no intervention at "
                      "every level, with the control of the same size beside it.",
           .alt = "Curves of the change of exact match over the number of keys or heads touched."}};
}

std::vector<Block> dose_response_tables(const InterventionResult& result) {
  TableBlock table{
      .caption =
          "Exact match in points for each key (or head) more, with 95 % bootstrap intervals over "
          "questions.",
      .columns = {{.name = "model"}, {.name = "intervention"}, {.name = "levels"}},
      .rows = {}};
  table.columns.push_back(number_column("n", "items answered at all levels"));
  table.columns.push_back(number_column("slope", "mean of the items' own least-squares lines, 0 included"));
  table.columns.push_back({.name = "control"});
  table.columns.push_back(number_column("its slope"));
  table.columns.push_back(number_column("beyond control", "difference of the two, paired by item"));
  for (const DoseCurve& c : result.curves) {
    std::string levels = "0";
    for (const DosePoint& p : c.points) levels += fmt::format(", {}", p.level);
    table.rows.push_back({c.model, c.intervention, levels, fmt::to_string(c.slope.n), slope_text(c.slope),
                          c.control.empty() ? "–" : c.control, slope_text(c.control_slope),
                          slope_text(c.slope_beyond)});
  }
  if (table.rows.empty()) return {};
  return {std::move(table)};
}

std::vector<Block> dose_tables(const InterventionResult& result) {
  TableBlock table{
      .caption =
          "Dose: what was done while the answers were written, means over layers and samples with 95 % "
          "bootstrap intervals. Stand-ins are like their keys in all that is not listed.",
      .columns = {{.name = "model"}, {.name = "intervention"}, {.name = "what"}},
      .rows = {}};
  table.columns.push_back(number_column("dose"));
  table.columns.push_back({.name = "control"});
  table.columns.push_back(number_column("its dose"));
  for (const InterventionRow& row : result.rows) {
    if (controls_another(result, row)) continue;
    const InterventionRow* control =
        row.control.empty() ? nullptr : row_named(result, row.model, row.control);
    for (const DoseText& text : kDoseTexts) {
      const Summary *own = dose_of(&row, text.quantity), *other = dose_of(control, text.quantity);
      if (!worth_a_line(own, other)) continue;
      table.rows.push_back({row.model, row.condition, text.label, dose_text(own, text.scale),
                            row.control.empty() ? "–" : row.control, dose_text(other, text.scale)});
      table.row_definitions.emplace_back(text.definition);
    }
  }
  if (table.rows.empty()) return {};
  return {std::move(table)};
}

}  // namespace buoy
