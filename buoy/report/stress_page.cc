#include "buoy/report/stress_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/report/number_text.h"
#include "buoy/report/page_parts.h"
#include "buoy/report/stress_figures.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

struct GroupText {
  StressGroup group;
  std::string_view title, explanation;
};

constexpr GroupText kGroups[] = {
    {StressGroup::kNoise, "Noise: what do bad passages cost?",
     "The passages become worse while the question stays the same. A flat line means that the model finds "
     "what it "
     "needs all the same."},
    {StressGroup::kPosition, "Position: does it matter where the evidence stands?",
     "The same passages in another order. A flat line means that the place of the evidence does not matter."},
    {StressGroup::kLayout, "Layout: what if the evidence is spread or buried?",
     "The evidence is moved apart, cut up or put among more passages; nothing of it is lost."},
    {StressGroup::kCollection, "Collection: does the model follow a change?",
     "The collection changes after it was built and before the question is asked. A stale answer is one that "
     "the collection no longer gives."},
    {StressGroup::kGeneration, "Generation: what does haste cost?",
     "The same prompt, with fewer steps or other blocks to write the answer in. These stressors are about "
     "masked "
     "diffusion models only."},
};

std::string points(const std::optional<ScoreSummaries>& scores, std::size_t score) {
  return scores ? change_text((*scores)[score], Digits::kPercent) : "–";
}

// A curve on one line: first level, worst level, what is lost there, slope.
std::vector<std::string> summary_row(const StressCurve& c) {
  std::vector<std::string> row = {std::string(c.stressor->title), c.model, c.data};
  const StressPoint* first = c.baseline >= 0 ? &c.points[static_cast<std::size_t>(c.baseline)] : nullptr;
  const StressPoint* worst = c.worst >= 0 ? &c.points[static_cast<std::size_t>(c.worst)] : nullptr;
  row.push_back(fmt::to_string(c.points.empty() ? 0 : c.points.front().scores[0].n));
  row.push_back(first != nullptr ? interval_text(first->scores[0], Digits::kPercent) : "–");
  row.push_back(worst != nullptr ? fmt::format("{} at {}", interval_text(worst->scores[0], Digits::kPercent),
                                               worst->level.text)
                                 : "–");
  row.push_back(worst != nullptr ? points(worst->losses, 0) : "–");
  row.push_back(worst != nullptr ? points(worst->losses, 2) : "–");
  row.push_back(points(c.slopes, 0));
  return row;
}

TableBlock summary_table(const CurveList& curves) {
  TableBlock table{.caption =
                       "Means in percent with 95 % bootstrap intervals over questions; losses and slopes are "
                       "paired by item.",
                   .columns = {{.name = "stressor"}, {.name = "model"}, {.name = "data"}},
                   .rows = {}};
  table.columns.push_back(number_column("n", "items at the first level"));
  table.columns.push_back(number_column("EM, first level", "exact match under the least stress"));
  table.columns.push_back(number_column("EM, worst level", "the level with the lowest exact match"));
  table.columns.push_back(number_column("EM lost", "points; first level − worst level"));
  table.columns.push_back(number_column("F1 lost", "points, at the same level"));
  table.columns.push_back(number_column(
      "EM slope", "points per unit of stress; below 0 the model loses; the unit is said with the stressor"));
  for (const StressCurve* c : curves) {
    table.rows.push_back(summary_row(*c));
    const std::string unit = c->stressor->unit.empty() ? "" : fmt::format(" Slope: {}.", c->stressor->unit);
    table.row_definitions.push_back(fmt::format("{}{}", c->stressor->explanation, unit));
  }
  // A column that says the same everywhere only takes room.
  constexpr std::ptrdiff_t kData = 2;
  const auto same = [&](const StressCurve* c) { return c->data == curves.front()->data; };
  if (std::ranges::all_of(curves, same)) {
    table.columns.erase(table.columns.begin() + kData);
    for (auto& row : table.rows) row.erase(row.begin() + kData);
  }
  return table;
}

// Shares of answers that the collection no longer gives.
std::vector<Block> stale_table(const CurveList& curves) {
  TableBlock table{
      .caption = "Stale answers: equal to an answer from before the change, in percent of items.",
      .columns = {{.name = "collection"},
                  {.name = "data"},
                  {.name = "model"},
                  number_column("n"),
                  number_column("stale, %")},
      .rows = {}};
  for (const StressCurve* c : curves) {
    for (const StressPoint& p : c->points) {
      if (p.stale)
        table.rows.push_back({p.level.text, c->data, c->model, fmt::to_string(p.stale->n),
                              interval_text(*p.stale, Digits::kPercent)});
    }
  }
  if (table.rows.empty()) return {};
  return {std::move(table)};
}

// One model against another: slopes, item by item.
std::vector<Block> difference_table(const StressResult& result) {
  TableBlock table{
      .caption =
          "Slopes of exact match, model against model on the same items: above 0 the first loses less.",
      .columns = {{.name = "stressor"},
                  {.name = "data"},
                  {.name = "models"},
                  number_column("n"),
                  number_column("difference of slopes")},
      .rows = {}};
  for (const Stressor& stressor : stressors()) {
    for (const StressDifference& d : result.differences) {
      for (const Summary& s : d.summaries) {
        if (s.quantity != "em_slope" || s.part != stressor.name) continue;
        table.rows.push_back({std::string(stressor.title), d.data, fmt::format("{} − {}", d.a, d.b),
                              fmt::to_string(s.n), change_text(s)});
        table.row_definitions.emplace_back(stressor.unit);
      }
    }
  }
  if (table.rows.empty()) return {};
  return {std::move(table)};
}

// What stress costs a model more under an intervention than without it, and than under its control.
std::vector<Block> intervened_table(const StressResult& result) {
  TableBlock table{
      .caption =
          "Under interventions: exact match against the same model, item by item, in points with 95 % "
          "bootstrap intervals over questions.",
      .columns = {{.name = "level"},
                  {.name = "data"},
                  {.name = "model"},
                  {.name = "intervention"},
                  {.name = "against", .definition = "the model untouched (none), or under the control"}},
      .rows = {}};
  table.columns.push_back(number_column("n"));
  table.columns.push_back(number_column("EM", "points more or less at this level"));
  table.columns.push_back(number_column(
      "lost more",
      "points lost since the first level, beyond what is lost without: above 0 it makes less robust"));
  for (const IntervenedStress& i : result.intervened) {
    for (const Summary& score : i.summaries) {
      if (score.quantity != "em") continue;
      const auto loss = std::ranges::find_if(
          i.summaries, [&](const Summary& s) { return s.quantity == "em_loss" && s.part == score.part; });
      table.rows.push_back({score.part, i.data, i.model, i.intervention,
                            i.against.empty() ? "none" : i.against, fmt::to_string(score.n),
                            change_text(score, Digits::kPercent),
                            loss != i.summaries.end() ? change_text(*loss, Digits::kPercent) : "–"});
    }
  }
  if (table.rows.empty()) return {};
  return {std::move(table)};
}

void add_figures(Section& section, std::vector<StudyFigure> figures, const StressResult& result,
                 const FigureWriter& writer) {
  for (StudyFigure& f : figures) {
    f.behind = writer.traced(result.samples);
    writer.add(section, "stress", f);
  }
}

void add_blocks(Section& section, std::vector<Block> blocks) {
  for (Block& block : blocks) section.blocks.push_back(std::move(block));
}

Section overview(const StressResult& result, const FigureWriter& writer) {
  Section section{
      .id = "stress",
      .title = "How much do the models lose under stress?",
      .explanation =
          "The same questions are asked again under growing stress, and every answer is compared with the "
          "answer "
          "to the same question at the first level, where stress is least. A model that hardly answers has "
          "little to lose: read "
          "losses beside the score without stress."};
  add_figures(section, worst_loss_figure(result, writer), result, writer);
  add_blocks(section, difference_table(result));
  add_blocks(section, intervened_table(result));
  const std::vector<std::string> models = names_in(result.curves, &StressCurve::model);
  if (models.size() > kMostStressModels) {
    section.blocks.push_back(
        NoteBlock{fmt::format("Figures by level show the first {} of {} models; the tables have all.",
                              kMostStressModels, models.size())});
  }
  return section;
}

}  // namespace

std::vector<Section> stress_sections(const StressResult& result, const FigureWriter& writer) {
  if (result.curves.empty()) return {};
  std::vector<Section> sections = {overview(result, writer)};
  for (const GroupText& text : kGroups) {
    CurveList curves;
    for (const StressCurve& c : result.curves) {
      if (c.stressor->group == text.group) curves.push_back(&c);
    }
    if (curves.empty()) continue;
    const std::string group(name_of(text.group));
    Section section{.id = "stress-" + group,
                    .title = std::string(text.title),
                    .explanation = std::string(text.explanation)};
    add_figures(section, stress_figures(curves, group, writer), result, writer);
    section.blocks.push_back(summary_table(curves));
    add_blocks(section, stale_table(curves));
    sections.push_back(std::move(section));
  }
  return sections;
}

void write_stress(const StressResult& result, const StressReport& report, const fs::path& directory,
                  const FigureOptions& options) {
  const FigureWriter writer(directory, options, names_in(result.curves, &StressCurve::model));
  Page page{.title = report.title,
            .lead = report.lead,
            .notes = writer.notes(),
            .models = writer.key(),
            .facts = report.facts,
            .sections = stress_sections(result, writer)};
  page.sections.push_back(repeat_section(
      "All numbers: stress.csv (every level) and robustness.csv (every curve), beside this page.",
      report.command));
  write_file_atomically(directory / "stress.csv", stress_csv(result));
  write_file_atomically(directory / "robustness.csv", robustness_csv(result));
  if (!result.intervened.empty()) write_file_atomically(directory / "intervened.csv", intervened_csv(result));
  save_page(page, directory / "report.html");
}

}  // namespace buoy
