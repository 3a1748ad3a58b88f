#include "buoy/report/eval_page.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "buoy/base/error.h"
#include "buoy/draw/figure.h"
#include "buoy/io/file.h"
#include "buoy/report/number_text.h"
#include "buoy/report/page_parts.h"
#include "buoy/report/seen_lines.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTitles[] = {"Exact match, %", "Substring, %", "F1, %"};
constexpr std::size_t kMostSeries = 6;

Block score_block(const ScoreTable& table, int score) {
  TableBlock block{.caption = fmt::format("{}: mean ± standard error over items.", kTitles[score]),
                   .columns = {{.name = "model"}, {.name = "passages"}},
                   .rows = {}};
  for (const std::string& column : table.columns)
    block.columns.push_back({.name = column, .kind = ColumnKind::kNumber});
  block.columns.push_back(
      {.name = "mean of cells", .kind = ColumnKind::kNumber, .definition = "every column counts the same"});
  block.columns.push_back(
      {.name = "mean of items", .kind = ColumnKind::kNumber, .definition = "every item counts the same"});
  block.columns.push_back({.name = "n", .kind = ColumnKind::kNumber, .definition = "items"});
  for (const ScoreRow& row : table.rows) {
    std::vector<std::string> line = {row.model, row.condition};
    const auto add = [&](const std::optional<ScoreCell>& c) {
      line.push_back(c ? fmt::format("{:.1f} ± {:.1f}", c->mean[score], c->standard_error[score]) : "–");
    };
    std::ranges::for_each(row.cells, add);
    add(row.cell_mean);
    add(row.item_mean);
    line.push_back(row.item_mean ? fmt::to_string(row.item_mean->n) : "0");
    block.rows.push_back(std::move(line));
  }
  return block;
}

std::vector<std::string> gain_line(const std::string& model, const std::string& condition,
                                   const std::vector<std::optional<ScoreGain>>& gains) {
  std::vector<std::string> line = {model, condition};
  for (const auto& g : gains) {
    line.push_back(g ? change_text({.mean = g->mean[0], .lo = g->low[0], .hi = g->high[0]}, Digits::kPercent)
                     : "–");
  }
  line.push_back(gains.back() ? fmt::to_string(gains.back()->n) : "0");
  return line;
}

Block gain_block(const ScoreTable& table) {
  TableBlock block{
      .caption =
          "Points of exact match that passages add over none, paired by item, with 95 % bootstrap intervals.",
      .columns = {{.name = "model"}, {.name = "passages"}},
      .rows = {}};
  for (const std::string& column : table.columns)
    block.columns.push_back({.name = column, .kind = ColumnKind::kNumber});
  block.columns.push_back(
      {.name = "mean of cells", .kind = ColumnKind::kNumber, .definition = "every column counts the same"});
  block.columns.push_back({.name = "all items", .kind = ColumnKind::kNumber});
  block.columns.push_back(
      {.name = "n", .kind = ColumnKind::kNumber, .definition = "items that both conditions have"});
  for (const ScoreRow& row : table.rows) {
    if (row.gains.empty()) continue;
    std::vector<std::optional<ScoreGain>> gains = row.gains;
    gains.insert(gains.end() - 1, row.cell_gain);
    block.rows.push_back(gain_line(row.model, row.condition, gains));
  }
  for (const GainContrast& contrast : table.contrasts) {
    std::vector<std::optional<ScoreGain>> gains = contrast.gains;
    gains.push_back(contrast.cell_gain);
    gains.push_back(contrast.item_gain);
    block.rows.push_back(gain_line("masked − autoregressive", contrast.condition, gains));
  }
  return block;
}

// Bars of every row, whiskers of 1.96 standard errors. A model's conditions share its colour.
Bars score_bars(const ScoreTable& table, const FigureWriter& writer) {
  Bars bars{.note = "Whiskers: 1.96 standard errors over items.",
            .width = kTextWidth,
            .y_title = "exact match, %",
            .y_range = Range{0, 105},
            .groups = table.columns};
  bars.groups.push_back("mean");
  for (const ScoreRow& row : table.rows) {
    if (bars.series.size() == kMostSeries) break;
    constexpr Fill kFills[] = {Fill::kSolid, Fill::kPale, Fill::kHatched};
    const auto before = static_cast<std::size_t>(std::ranges::count_if(
        table.rows.data(), &row, [&](const ScoreRow& other) { return other.model == row.model; }));
    BarSeries series{.name = fmt::format("{}, {}", row.model, row.condition),
                     .bars = {},
                     .color = writer.color_of(row.model),
                     .fill = kFills[before % std::size(kFills)]};
    const auto add = [&](const std::optional<ScoreCell>& c) {
      if (!c) return series.bars.push_back({});
      const double half = 1.96 * c->standard_error[0];
      series.bars.push_back({.value = c->mean[0],
                             .low = std::max(0.0, c->mean[0] - half),
                             .high = std::min(100.0, c->mean[0] + half)});
    };
    std::ranges::for_each(row.cells, add);
    add(row.cell_mean);
    bars.series.push_back(std::move(series));
  }
  return bars;
}

// What attention did while the answers were written, model by model and condition by condition.
Block seen_block(const SampleTable& seen) {
  TableBlock table{.caption = "Means over samples with 95 % bootstrap intervals, averaged over layers.",
                   .columns = {{.name = "what"}, {.name = "model"}, {.name = "data, passages"}},
                   .rows = {}};
  table.columns.push_back(number_column("n", "samples that have it"));
  table.columns.push_back(number_column("mean"));
  table.columns.push_back(number_column("null", "the same under uniform attention"));
  std::set<std::pair<std::string, std::string>> groups;
  for (const SampleKey& key : seen.samples()) groups.emplace(key.model, key.data);
  std::map<std::pair<std::string, std::string>, std::vector<Summary>> summaries;
  for (const auto& group : groups) {
    summaries[group] = seen.summaries({.model = group.first, .data = group.second, .task = {}});
  }
  for (const SeenLine& line : kSeenLines) {
    for (const auto& [group, all] : summaries) {
      const auto found = std::ranges::find_if(all, [&](const Summary& s) {
        return s.quantity == line.quantity.name && s.part == line.quantity.part;
      });
      if (found == all.end()) continue;
      table.rows.push_back({std::string(line.label), group.first, group.second, fmt::to_string(found->n),
                            interval_text(*found), found->null ? number_text(*found->null) : "–"});
      table.row_definitions.emplace_back(line.definition);
    }
  }
  return table;
}

}  // namespace

std::vector<Section> eval_sections(const ScoreTable& table, const FigureWriter& writer) {
  Section scores{
      .id = "scores",
      .title = "How well do the models answer?",
      .explanation =
          "Every model answers every question, with and without passages, from the same prompt. Exact match "
          "asks for the answer itself, substring for an answer that holds it, F1 for shared words."};
  writer.add(scores, "answers",
             {.name = "scores",
              .figure = score_bars(table, writer),
              .csv = score_csv(table),
              .caption = "Exact match by dataset.",
              .alt = "Bars of exact match by dataset, model and condition.",
              .behind = writer.traced()});
  for (int s = 0; s < 3; ++s) scores.blocks.push_back(score_block(table, s));
  std::vector<Section> sections = {std::move(scores)};
  if (table.baseline.empty()) return sections;
  sections.push_back({.id = "gain",
                      .title = "What do passages add?",
                      .explanation =
                          "The same items with and without passages, compared item by item. An interval that "
                          "excludes 0 says that passages change the score.",
                      .blocks = {gain_block(table)}});
  return sections;
}

void write_eval(const ScoreTable& table, const EvalReport& report, const fs::path& directory,
                const FigureOptions& options) {
  const FigureWriter writer(directory, options, names_in(table.rows, &ScoreRow::model));
  Page page{.title = report.title,
            .lead = report.lead,
            .notes = writer.notes(),
            .models = writer.key(),
            .facts = report.facts,
            .sections = eval_sections(table, writer)};
  if (report.seen != nullptr) {
    page.sections.push_back(
        {.id = "seen",
         .title = "What did attention do meanwhile?",
         .explanation = "Recorded on the same pass that wrote the answers. All numbers, layer by layer, are "
                        "in attention.csv beside this page.",
         .blocks = {seen_block(*report.seen)}});
  }
  page.sections.push_back(repeat_section("All numbers are in scores.csv, beside this page.", report.command));
  write_file_atomically(directory / "scores.csv", score_csv(table));
  write_file_atomically(directory / "scores.json", score_json(table, report.about));
  write_file_atomically(directory / "scores.tex", score_latex(table, report.scores));
  save_page(page, directory / "report.html");
}

}  // namespace buoy
