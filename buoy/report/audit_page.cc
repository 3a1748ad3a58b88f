#include "buoy/report/audit_page.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/report/audit_pareto.h"
#include "buoy/report/number_text.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// Colours tell six things apart: more caches than that are drawn in order.
Palette palette_for(const AuditResult& result) {
  return std::ssize(result.caches) > kSeriesColorCount ? Palette::kOrdered : Palette::kCategorical;
}

// A cache has one colour in all figures.
Index color_for(const AuditResult& result, const std::string& cache) {
  if (palette_for(result) == Palette::kOrdered) return kColorByOrder;
  return std::ranges::find(result.caches, cache) - result.caches.begin();
}

Summary scaled(Summary s, double factor) {
  s.mean *= factor;
  if (s.lo) *s.lo *= factor;
  if (s.hi) *s.hi *= factor;
  return s;
}

StudyFigure pareto_figure(const AuditResult& result) {
  std::vector<ParetoPoint> tokens, scores;
  for (const std::string& cache : result.caches) {
    const AuditSummaries& s = result.summaries.at(cache);
    const Summary *speed = s.find("speed"), *equal = s.find("equal_tokens");
    if (speed == nullptr || equal == nullptr) continue;
    tokens.push_back({cache, color_for(result, cache), *speed, scaled(*equal, 100)});
    if (const auto change = s.change_of("em"))
      scores.push_back({cache, color_for(result, cache), *speed, scaled(*change, 100)});
  }
  Curves curves{
      .title = "What a cache buys and what it costs",
      .note = fmt::format("n = {} questions, 95 % bootstrap intervals over questions. Grey: the exact "
                          "run, and the front of what nothing beats.",
                          result.questions.size()),
      .width = kTextWidth,
      .panels_across = 2,
      .panel_height = 150,
      .x_title = "Speed, times that of exact generation",
      .palette = palette_for(result),
      .legend = LegendPlace::kAbove,
      .panels = {pareto_panel({.title = "Equal tokens (%)", .exact = 100, .most = 100}, tokens)}};
  if (!scores.empty()) {
    const ParetoAxis axis{.title = "Exact match, change (points)", .exact = 0, .most = {}};
    curves.panels.push_back(pareto_panel(axis, scores));
  }
  std::string csv = figure_csv(curves);
  return {.name = "pareto",
          .figure = std::move(curves),
          .csv = std::move(csv),
          .caption =
              "One point for each cache: to the right is faster, up is closer to the exact run. A cache "
              "below the grey line is beaten on both axes by another and not worth having.",
          .alt = "Points of speed against the share of equal tokens and the change of exact match."};
}

CurvePanel step_panel(const AuditResult& result, const std::string& title, std::string_view quantity,
                      double factor) {
  CurvePanel panel{.title = title, .series = {}};
  for (const std::string& cache : result.caches) {
    Series line{.name = cache, .x = {}, .y = {}, .color = color_for(result, cache)};
    for (const Summary& s : result.summaries.at(cache).all()) {
      if (s.quantity != quantity) continue;
      line.x.push_back(std::stod(s.part));
      line.y.push_back(factor * s.mean);
      line.low.push_back(factor * s.lo.value_or(s.mean));
      line.high.push_back(factor * s.hi.value_or(s.mean));
    }
    if (!line.x.empty()) panel.series.push_back(std::move(line));
  }
  set_own_range(panel, 0);
  return panel;
}

StudyFigure steps_figure(const AuditResult& result) {
  Curves curves{.title = "Pass by pass, on the exact run's tokens",
                .width = kTextWidth,
                .panels_across = 2,
                .x_title = "Pass",
                .palette = palette_for(result),
                .legend = LegendPlace::kAbove,
                .panels = {step_panel(result, "KL(exact ‖ cached), nats", "kl_step", 1),
                           step_panel(result, "Attention on stale keys (%)", "stale_mass_step", 100)}};
  std::string csv = figure_csv(curves);
  return {.name = "audit_passes",
          .figure = std::move(curves),
          .csv = std::move(csv),
          .caption =
              "Both passes see the tokens of the exact run, so that the divergence is that of stale keys "
              "and values alone. It falls to 0 where everything is computed again.",
          .alt = "Curves of divergence and of attention on stale keys by pass, one for each cache."};
}

constexpr struct {
  const char *kind, *title;
} kStaleKinds[] = {{"prompt", "prompt"}, {"written", "written tokens"}, {"mask", "masks"}};

// Keys and values of one kind by layer, for the caches that keep any.
void add_depth_panels(const AuditResult& result, const char* kind, const char* title, Curves& curves) {
  for (const auto& [quantity, what] : {std::pair{"key_distance", "Keys"}, {"value_distance", "Values"}}) {
    CurvePanel panel{.title = fmt::format("{}, {}", what, title), .series = {}};
    for (const std::string& cache : result.caches) {
      Series line{.name = cache, .x = {}, .y = {}, .color = color_for(result, cache)};
      for (const Summary& s : result.summaries.at(cache).all()) {
        if (s.quantity != quantity || s.part != kind || s.layer < 0) continue;
        line.x.push_back(static_cast<double>(s.layer));
        line.y.push_back(s.mean);
        line.low.push_back(s.lo.value_or(s.mean));
        line.high.push_back(s.hi.value_or(s.mean));
      }
      if (!line.x.empty()) panel.series.push_back(std::move(line));
    }
    if (panel.series.empty()) continue;
    curves.panels.push_back(std::move(panel));
  }
}

StudyFigure depth_figure(const AuditResult& result) {
  Curves curves{.title = "How far stale keys and values are from exact ones, by depth",
                .width = kTextWidth,
                .panels_across = 2,
                .panel_height = 90,
                .x_title = "Layer",
                .y_title = "‖kept − exact‖ ÷ ‖exact‖",
                .palette = palette_for(result),
                .legend = LegendPlace::kAbove};
  for (const auto& [kind, title] : kStaleKinds) add_depth_panels(result, kind, title, curves);
  std::string csv = figure_csv(curves);
  return {.name = "audit_depth",
          .figure = std::move(curves),
          .csv = std::move(csv),
          .caption =
              "In layer 0 a key depends on its own token alone: there only masks that became tokens are "
              "wrong. What is deeper has seen its neighbours change.",
          .alt = "Curves of the relative distance of stale keys and values by layer."};
}

// The place of "3–4" among the powers of two.
double bin_place(const std::string& part) {
  return std::ceil(std::log2(std::stod(part.substr(part.find(' ') + 1))));
}

CurvePanel since_panel(const AuditResult& result, std::string_view quantity, const std::string& title) {
  CurvePanel panel{.title = title, .series = {}, .x_title = "Passes since it was written"};
  for (const std::string& cache : result.caches) {
    std::vector<const Summary*> found;
    for (const Summary& s : result.summaries.at(cache).all()) {
      if (s.quantity == quantity && s.layer < 0 && s.part.starts_with("written ")) found.push_back(&s);
    }
    std::ranges::sort(found, {}, [](const Summary* s) { return bin_place(s->part); });
    Series line{
        .name = cache, .x = {}, .y = {}, .markers = Markers::kDots, .color = color_for(result, cache)};
    for (const Summary* s : found) {
      line.x.push_back(bin_place(s->part));
      line.y.push_back(s->mean);
      line.low.push_back(s->lo.value_or(s->mean));
      line.high.push_back(s->hi.value_or(s->mean));
      const AxisTick tick{line.x.back(), s->part.substr(s->part.find(' ') + 1)};
      const auto same = [&](const AxisTick& t) { return t.at == tick.at; };
      if (std::ranges::none_of(panel.x_ticks, same)) panel.x_ticks.push_back(tick);
    }
    if (!line.x.empty()) panel.series.push_back(std::move(line));
  }
  std::ranges::sort(panel.x_ticks, {}, &AxisTick::at);
  return panel;
}

StudyFigure since_figure(const AuditResult& result) {
  Curves curves{.title = "The same by passes since a token was written",
                .width = kTextWidth,
                .panels_across = 2,
                .y_title = "‖kept − exact‖ ÷ ‖exact‖",
                .palette = palette_for(result),
                .legend = LegendPlace::kAbove,
                .panels = {since_panel(result, "key_distance", "Keys, written tokens"),
                           since_panel(result, "value_distance", "Values, written tokens")}};
  std::string csv = figure_csv(curves);
  return {
      .name = "audit_since",
      .figure = std::move(curves),
      .csv = std::move(csv),
      .caption = "Means over layers.",
      .alt = "Curves of the relative distance of stale keys and values by passes since they were written."};
}

std::string cell(const Summary* s, double factor, Digits digits) {
  return s == nullptr ? "–" : interval_text(scaled(*s, factor), digits);
}

TableBlock cost_table(const AuditResult& result) {
  TableBlock table{.caption = "Means with 95 % bootstrap intervals over questions.",
                   .columns = {{.name = "cache"}},
                   .rows = {}};
  table.columns.push_back(number_column("n", "questions"));
  table.columns.push_back(number_column("speed", "time of the exact run ÷ time with the cache, in one run"));
  table.columns.push_back(number_column("rows %", "rows computed, of those of the exact run"));
  table.columns.push_back(number_column("equal tokens %", "of the exact run's answer, up to its EOS"));
  table.columns.push_back(number_column("same answer %", "questions whose text is the same"));
  table.columns.push_back(
      number_column("first differs at", "token of the answer, where one differs; from 0"));
  table.columns.push_back(number_column("KL", "KL(exact ‖ cached) in nats, on the exact run's tokens"));
  table.columns.push_back(number_column("EM %"));
  table.columns.push_back(number_column("EM change", "points, question by question"));
  std::vector<std::string> runs = {std::string(kExactRun)};
  runs.insert(runs.end(), result.caches.begin(), result.caches.end());
  for (const std::string& run : runs) {
    const AuditSummaries& s = result.summaries.at(run);
    const auto change = s.change_of("em");
    table.rows.push_back({run, fmt::to_string(result.questions.size()),
                          cell(s.find("speed"), 1, Digits::kThree),
                          cell(s.find("rows_share"), 100, Digits::kPercent),
                          cell(s.find("equal_tokens"), 100, Digits::kPercent),
                          cell(s.find("same_answer"), 100, Digits::kPercent),
                          cell(s.find("first_difference"), 1, Digits::kPercent),
                          cell(s.find("kl"), 1, Digits::kThree), cell(s.find("em"), 100, Digits::kPercent),
                          change ? change_text(scaled(*change, 100), Digits::kPercent) : "–"});
  }
  return table;
}

TableBlock correlation_table(const AuditResult& result) {
  TableBlock table{.caption =
                       "Spearman's ρ between a pass's divergence and what it may go with, over the passes "
                       "of a question; means over questions with 95 % bootstrap intervals.",
                   .columns = {{.name = "cache"}, {.name = "goes with"}},
                   .rows = {}};
  table.columns.push_back(number_column("n", "questions that have a ρ"));
  table.columns.push_back(number_column("ρ"));
  table.columns.push_back(
      number_column("shuffled", "the same with another question's numbers at the same passes"));
  table.columns.push_back(number_column("beyond it",
                                        "ρ − shuffled; an interval above 0 says that more than the "
                                        "number of the pass is at work"));
  for (const std::string& cache : result.caches) {
    const AuditSummaries& s = result.summaries.at(cache);
    for (const AuditPredictor& predictor : audit_predictors()) {
      const Summary* rho = s.find("rho", predictor.name);
      if (rho == nullptr) continue;
      const Summary* beyond = s.find("rho_beyond", predictor.name);
      table.rows.push_back({cache, predictor.about, fmt::to_string(rho->n), change_text(*rho),
                            rho->null ? number_text(*rho->null) : "–",
                            beyond != nullptr ? change_text(*beyond) : "–"});
    }
  }
  return table;
}

bool has_series(const StudyFigure& figure) {
  const auto any = [](const CurvePanel& panel) { return !panel.series.empty(); };
  return std::ranges::any_of(std::get<Curves>(figure.figure).panels, any);
}

}  // namespace

void write_audit(const AuditResult& result, const AuditReport& report, const fs::path& directory,
                 const FigureOptions& options) {
  const FigureWriter writer(directory, options, {result.model});
  Section cost{.id = "cost",
               .title = "What do caches buy, and what do they cost?",
               .explanation =
                   "The same questions are answered exactly and with every cache. All caches here "
                   "are approximate: they keep keys and values that would have changed."};
  Section passes{.id = "passes",
                 .title = "Where does the divergence come from?",
                 .explanation =
                     "Every cache follows the exact run's tokens, and each pass is computed both ways. "
                     "Attention on a stale key times how far the key has changed is what can do harm."};
  Section change{
      .id = "change",
      .title = "How stale are the keys and values?",
      .explanation = "What a cache holds, against what the exact pass computes at the same position."};
  const auto add = [&](Section& section, const StudyFigure& figure) {
    if (has_series(figure)) writer.add(section, "audit", figure);
  };
  add(cost, pareto_figure(result));
  cost.blocks.push_back(cost_table(result));
  add(passes, steps_figure(result));
  if (TableBlock table = correlation_table(result); !table.rows.empty()) passes.blocks.push_back(table);
  add(change, depth_figure(result));
  add(change, since_figure(result));
  Page page{.title = report.title,
            .lead = report.lead,
            .notes = writer.notes(),
            .facts = report.facts,
            .sections = {std::move(cost), std::move(passes)}};
  if (!change.blocks.empty()) page.sections.push_back(std::move(change));
  page.sections.push_back(repeat_section(
      "All numbers are in audit.csv, every pass of every question in audit_steps.csv, beside this page.",
      report.command));
  write_file_atomically(directory / "audit.csv", audit_csv(result));
  write_file_atomically(directory / "audit_steps.csv", audit_steps_csv(result));
  write_file_atomically(directory / "audit.json", audit_json(result).dump(1) + "\n");
  save_page(page, directory / "report.html");
}

}  // namespace buoy
