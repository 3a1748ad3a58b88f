#include "buoy/report/intervene_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/report/intervene_dose.h"
#include "buoy/report/number_text.h"
#include "buoy/report/page_parts.h"
#include "buoy/report/seen_lines.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

const Summary* find(const std::vector<Summary>& summaries, const Quantity& quantity) {
  const auto found = std::ranges::find_if(
      summaries, [&](const Summary& s) { return s.quantity == quantity.name && s.part == quantity.part; });
  return found == summaries.end() ? nullptr : &*found;
}

std::string points(const std::optional<Summary>& s) {
  return s ? change_text(*s, Digits::kPercent) : "–";
}

const InterventionRow* find_row(const InterventionResult& result, const std::string& model,
                                const std::string& condition) {
  const auto found = std::ranges::find_if(
      result.rows, [&](const InterventionRow& r) { return r.model == model && r.condition == condition; });
  return found == result.rows.end() ? nullptr : &*found;
}

const InterventionRow* control_of(const InterventionResult& result, const InterventionRow& row) {
  return row.control.empty() ? nullptr : find_row(result, row.model, row.control);
}

// One of the two scores of a row.
struct Score {
  const char *name, *short_name;
  Summary InterventionRow::*value;
  std::optional<Summary> InterventionRow::*change;
  std::optional<Summary> InterventionRow::*beyond;
};
constexpr Score kScores[] = {
    {"Exact match", "EM", &InterventionRow::em, &InterventionRow::em_change,
     &InterventionRow::em_against_control},
    {"F1", "F1", &InterventionRow::f1, &InterventionRow::f1_change, &InterventionRow::f1_against_control},
};

TableBlock score_table(const InterventionResult& result, const Score& score) {
  TableBlock table{
      .caption =
          fmt::format("{}, in percent and points, with 95 % bootstrap intervals over questions.", score.name),
      .columns = {{.name = "model"}, {.name = "intervention"}},
      .rows = {}};
  table.columns.push_back(number_column("n", "items answered under it"));
  table.columns.push_back(number_column(score.short_name));
  table.columns.push_back(number_column("change", "against no intervention, paired by item"));
  table.columns.push_back({.name = "control", .definition = "the same at random: as many, of the same kind"});
  table.columns.push_back(number_column("its change", "of the control, against no intervention"));
  table.columns.push_back(number_column(
      "beyond control",
      "intervention − control, paired by item; an interval without 0 says that it matters what is "
      "touched, not only how much"));
  for (const InterventionRow& row : result.rows) {
    const InterventionRow* control = control_of(result, row);
    table.rows.push_back({row.model, row.condition, fmt::to_string(row.n),
                          number_text((row.*score.value).mean, Digits::kPercent), points(row.*score.change),
                          row.control.empty() ? "–" : row.control,
                          control != nullptr ? points(control->*score.change) : "–",
                          points(row.*score.beyond)});
  }
  return table;
}

Bar bar_of(const InterventionRow* row) {
  if (row == nullptr || !row->em_change) return {};
  const Summary& s = *row->em_change;
  return {.value = s.mean, .low = s.lo.value_or(s.mean), .high = s.hi.value_or(s.mean)};
}

std::vector<std::string> models_of(const InterventionResult& result) {
  return names_in(result.rows, &InterventionRow::model);
}

// Conditions that stand as bars of their own: neither none nor the control of another, in order.
std::vector<std::string> shown_conditions(const InterventionResult& result) {
  std::vector<std::string> names;
  for (const InterventionRow& row : result.rows) {
    const bool is_control =
        std::ranges::find(result.rows, row.condition, &InterventionRow::control) != result.rows.end();
    if (row.condition != kNoIntervention && !is_control &&
        std::ranges::find(names, row.condition) == names.end())
      names.push_back(row.condition);
  }
  return names;
}

std::string item_note(const InterventionResult& result) {
  const auto [least, most] = std::ranges::minmax(result.rows, {}, &InterventionRow::n);
  const std::string n = least.n == most.n ? fmt::to_string(most.n) : fmt::format("{} to {}", least.n, most.n);
  return fmt::format("n = {} items. Whiskers: 95 % bootstrap intervals over questions.", n);
}

// Two series for each model, in its colour: the intervention and, hatched, its control.
Bars change_bars(const InterventionResult& result, std::span<const std::string> models,
                 const FigureWriter& writer) {
  Bars bars{.note = item_note(result),
            .width = kTextWidth,
            .y_title = "change of exact match, points",
            .labels = ValueLabels::kShown,
            .groups = shown_conditions(result)};
  for (const std::string& model : models) {
    const Index color = writer.color_of(model);
    BarSeries own{.name = model, .bars = {}, .color = color};
    BarSeries control{.name = model + ", control", .bars = {}, .color = color, .fill = Fill::kHatched};
    bool controlled = false;
    for (const std::string& condition : bars.groups) {
      const InterventionRow* row = find_row(result, model, condition);
      const InterventionRow* beside = row == nullptr ? nullptr : control_of(result, *row);
      controlled = controlled || beside != nullptr;
      own.bars.push_back(bar_of(row));
      control.bars.push_back(bar_of(beside));
    }
    bars.series.push_back(std::move(own));
    if (controlled) bars.series.push_back(std::move(control));
  }
  return bars;
}

// Bars hold six series: three models with their controls to a figure.
std::vector<StudyFigure> change_figures(const InterventionResult& result, const FigureWriter& writer) {
  constexpr std::size_t kModelsAtOnce = 3;
  std::vector<StudyFigure> figures;
  const std::vector<std::string> models = models_of(result);
  if (shown_conditions(result).empty()) return figures;
  for (std::size_t first = 0; first < models.size(); first += kModelsAtOnce) {
    const auto some = std::span(models).subspan(first, std::min(kModelsAtOnce, models.size() - first));
    Bars bars = change_bars(result, some, writer);
    std::string csv = figure_csv(bars);
    figures.push_back(
        {.name = first == 0 ? "interventions" : fmt::format("interventions_{}", first / kModelsAtOnce + 1),
         .figure = std::move(bars),
         .csv = std::move(csv),
         .caption = "What each intervention changes, item by item, with its control beside it: the "
                    "same done to as many of the same kind, drawn at random.",
         .alt = "Bars of the change of exact match by intervention, model and control."});
  }
  return figures;
}

// Nothing where no condition was traced.
std::vector<Block> seen_tables(const InterventionResult& result) {
  TableBlock table{
      .caption = "Means over traced samples with 95 % bootstrap intervals; changes are paired by sample.",
      .columns = {{.name = "what"}, {.name = "model"}, {.name = "intervention"}},
      .rows = {}};
  table.columns.push_back(number_column("n", "samples traced under it"));
  table.columns.push_back(number_column("mean"));
  table.columns.push_back(number_column("change", "against no intervention, paired by sample"));
  for (const SeenLine& line : kSeenLines) {
    for (const InterventionRow& row : result.rows) {
      const Summary* s = find(row.seen, line.quantity);
      if (s == nullptr) continue;
      const Summary* change = find(row.seen_change, line.quantity);
      table.rows.push_back({std::string(line.label), row.model, row.condition, fmt::to_string(s->n),
                            interval_text(*s), change != nullptr ? change_text(*change) : "–"});
      table.row_definitions.emplace_back(line.definition);
    }
  }
  if (table.rows.empty()) return {};
  return {std::move(table)};
}

}  // namespace

std::vector<Section> intervene_sections(const InterventionResult& result, const FigureWriter& writer) {
  if (result.rows.empty()) return {};
  Section answers{
      .id = "interventions",
      .title = "What do interventions cost?",
      .explanation =
          "Attention is changed while the model answers, and every answer is compared with the one it gives "
          "untouched. What an intervention does beyond its control is due to what it touches."};
  const auto add = [&](std::vector<StudyFigure> figures) {
    for (StudyFigure& f : figures) {
      f.behind = writer.traced(result.samples);
      writer.add(answers, "interventions", f);
    }
  };
  add(change_figures(result, writer));
  for (const Score& score : kScores) answers.blocks.push_back(score_table(result, score));
  add(dose_response_figures(result, writer));
  for (Block& block : dose_response_tables(result)) answers.blocks.push_back(std::move(block));
  for (Block& block : dose_tables(result)) answers.blocks.push_back(std::move(block));
  std::vector<Section> sections = {std::move(answers)};
  std::vector<Block> seen = seen_tables(result);
  if (seen.empty()) return sections;
  sections.push_back({.id = "interventions-seen",
                      .title = "What does attention do under it?",
                      .explanation =
                          "The same measurements as in a study, taken while attention is changed. They say "
                          "whether an intervention did what it was meant to do, and what gave way.",
                      .blocks = std::move(seen)});
  return sections;
}

void write_intervene(const InterventionResult& result, const InterveneReport& report,
                     const fs::path& directory, const FigureOptions& options) {
  const FigureWriter writer(directory, options, models_of(result));
  Page page{.title = report.title,
            .lead = report.lead,
            .notes = writer.notes(),
            .models = writer.key(),
            .facts = report.facts,
            .sections = intervene_sections(result, writer)};
  page.sections.push_back(
      repeat_section("All numbers are in interventions.csv, beside this page.", report.command));
  write_file_atomically(directory / "interventions.csv", intervene_csv(result));
  save_page(page, directory / "report.html");
}

}  // namespace buoy
