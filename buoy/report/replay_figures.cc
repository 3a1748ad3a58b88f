#include "buoy/report/replay_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace buoy {
namespace {

constexpr std::size_t kMostModels = 6;  // colours
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// A row of ticks: what happened, and to which kind of document.
struct TickRow {
  const char* name;
  bool (*holds)(const Event& event);
};
bool is_plain(const Event& e) {
  return e.document == DocumentKind::kPlain || e.document == DocumentKind::kNearMiss;
}
constexpr std::array<TickRow, 5> kTickRows = {{
    {"added", [](const Event& e) { return e.kind == EventKind::kAdd && is_plain(e); }},
    {"changed", [](const Event& e) { return e.kind == EventKind::kChange; }},
    {"old copies",
     [](const Event& e) { return e.kind == EventKind::kAdd && e.document == DocumentKind::kCopy; }},
    {"rumours",
     [](const Event& e) { return e.kind == EventKind::kAdd && e.document == DocumentKind::kRumour; }},
    {"removed", [](const Event& e) { return e.kind == EventKind::kRemove; }},
}};

// Upright strokes, a row for each kind.
CurvePanel event_panel(std::span<const Event> events) {
  CurvePanel panel{.title = "Events", .series = {{.name = "", .x = {}, .y = {}}}};
  Series& strokes = panel.series[0];
  for (std::size_t r = 0; r < kTickRows.size(); ++r) {
    const double top = static_cast<double>(kTickRows.size() - r);
    panel.bands.push_back({.low = top - 1, .high = top, .name = kTickRows[r].name});
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!kTickRows[r].holds(events[i])) continue;
      for (const double y : {top - 0.85, top - 0.15, kNoValue}) {
        strokes.x.push_back(static_cast<double>(i + 1));
        strokes.y.push_back(y);
      }
    }
  }
  return panel;
}

// Adds what a row says, or a gap where there is none.
void add_row_point(Series& series, double x, const ReplayRow* row) {
  series.x.push_back(x);
  series.y.push_back(row == nullptr ? kNoValue : row->mean);
  series.low.push_back(row == nullptr ? kNoValue : row->lo.value_or(row->mean));
  series.high.push_back(row == nullptr ? kNoValue : row->hi.value_or(row->mean));
  series.null.push_back(row == nullptr ? kNoValue : row->null.value_or(kNoValue));
}

bool is_empty(const Series& series) {
  for (const double y : series.y) {
    if (std::isfinite(y)) return false;
  }
  return true;
}

CurvePanel over_time(const ReplayTable& table, const std::string& title, std::string_view quantity,
                     const FigureWriter& writer) {
  CurvePanel panel{.title = title, .series = {}};
  for (std::size_t m = 0; m < table.models.size() && m < kMostModels; ++m) {
    Series series{.name = table.models[m],
                  .x = {},
                  .y = {},
                  .markers = Markers::kDots,
                  .color = writer.color_of(table.models[m])};
    for (const ReplayWindow& window : table.windows)
      add_row_point(series, window.middle, table.find(table.models[m], "window", window.name, quantity));
    if (!is_empty(series)) panel.series.push_back(std::move(series));
  }
  return panel;
}

// From 0 to a little above what the panels show: one range for all of them, whatever stands beside them.
void share_range(std::span<CurvePanel> panels) {
  double top = 1;
  for (const CurvePanel& panel : panels) {
    for (const Series& series : panel.series) {
      for (const double y : series.high) top = std::isfinite(y) ? std::max(top, y) : top;
    }
  }
  for (CurvePanel& panel : panels) panel.y_range = Range{0, 1.08 * top};
}

CurvePanel around_change(const ReplayTable& table, const std::string& title, const std::string& side,
                         std::string_view quantity, const FigureWriter& writer) {
  CurvePanel panel{.title = title, .series = {}, .x_title = "questions from the change"};
  for (Index k = -kMostOffset; k <= kMostOffset; ++k) {
    if (k != 0)
      panel.x_ticks.push_back(
          {static_cast<double>(k), k < 0 ? fmt::format("−{}", -k) : fmt::format("+{}", k)});
  }
  for (std::size_t m = 0; m < table.models.size() && m < kMostModels; ++m) {
    Series series{.name = table.models[m],
                  .x = {},
                  .y = {},
                  .markers = Markers::kDots,
                  .color = writer.color_of(table.models[m])};
    for (Index k = -kMostOffset; k <= kMostOffset; ++k) {
      const std::string part = fmt::format("{} {}", side, k);
      // Between the last before and the first after stands the change: a gap.
      add_row_point(series, static_cast<double>(k),
                    k == 0 ? nullptr : table.find(table.models[m], "change", part, quantity));
    }
    if (!is_empty(series)) panel.series.push_back(std::move(series));
  }
  return panel;
}

Curves stream_curves(const ReplayTable& table, std::span<const Event> events) {
  const Index questions = std::ranges::count(events, EventKind::kAsk, &Event::kind);
  const Index windows = std::max<Index>(1, std::ssize(table.windows));
  Curves curves{.note = fmt::format("Windows of about {} questions; bands: 95 %, questions resampled.",
                                    (questions + windows / 2) / windows),
                .width = kTextWidth,
                .panel_height = 62,
                .x_title = "event of the stream",
                .x_range = Range{0, static_cast<double>(events.size()) + 1},
                .legend = LegendPlace::kAbove};
  curves.panels.push_back(event_panel(events));
  return curves;
}

}  // namespace

StudyFigure timeline_figure(const ReplayTable& table, std::span<const Event> events,
                            const FigureWriter& writer) {
  Curves curves = stream_curves(table, events);
  const struct {
    const char *title, *quantity;
  } panels[] = {{"Exact match, %", "em"},
                {"Follows an outdated version, %", "follows_outdated"},
                {"Follows a rumour, %", "follows_rumour"},
                {"A current passage is found, %", "hit"}};
  for (const auto& p : panels) {
    CurvePanel panel = over_time(table, p.title, p.quantity, writer);
    panel.y_range = Range{0, 105};
    if (!panel.series.empty()) curves.panels.push_back(std::move(panel));
  }
  StudyFigure figure{.name = "timeline",
                     .figure = curves,
                     .csv = {},
                     .caption = "The stream from left to right. Dashed: the null beside each number.",
                     .alt =
                         "Ticks for events of a stream above curves of exact match, answers that follow "
                         "outdated versions and rumours, and hits, one line for each model."};
  figure.csv = figure_csv(figure.figure);
  return figure;
}

std::optional<StudyFigure> replay_attention_figure(const ReplayTable& table, std::span<const Event> events,
                                                   const FigureWriter& writer) {
  Curves curves = stream_curves(table, events);
  const struct {
    const char *title, *quantity;
  } panels[] = {{"To current passages", "lift_current"},
                {"To outdated passages", "lift_outdated"},
                {"To rumours", "lift_rumour"},
                {"To unrelated passages", "lift_unrelated"}};
  for (const auto& p : panels) {
    CurvePanel panel = over_time(table, p.title, p.quantity, writer);
    if (!panel.series.empty()) curves.panels.push_back(std::move(panel));
  }
  if (curves.panels.size() == 1) return std::nullopt;
  share_range(std::span(curves.panels).subspan(1));
  curves.y_title = "attention per token ÷ uniform";
  StudyFigure figure{.name = "attention",
                     .figure = curves,
                     .csv = {},
                     .caption =
                         "Attention of the rows that wrote the answer to the tokens of passages, by what "
                         "the passages are. 1 is uniform attention.",
                     .alt =
                         "Ticks for events above curves of attention to current, outdated, false and "
                         "unrelated passages, one line for each model."};
  figure.csv = figure_csv(figure.figure);
  return figure;
}

std::optional<StudyFigure> changes_figure(const ReplayTable& table, const FigureWriter& writer) {
  Curves curves{
      .note = "The same question before and after its document changed. Bands: 95 %, questions resampled.",
      .width = kTextWidth,
      .panels_across = 2,
      .panel_height = 84,
      .legend = LegendPlace::kAbove};
  const struct {
    const char *title, *side, *quantity;
    double high;  // 0: from the data
  } panels[] = {{"Exact match, %: the answer changed", "changed", "em", 105},
                {"Exact match, %: the answer stayed", "kept", "em", 105},
                {"Follows an outdated version, %: changed", "changed", "follows_outdated", 105},
                {"Follows an outdated version, %: stayed", "kept", "follows_outdated", 105},
                {"Attention to current passages: changed", "changed", "lift_current", 0},
                {"Attention to outdated passages: changed", "changed", "lift_outdated", 0}};
  for (const auto& p : panels) {
    CurvePanel panel = around_change(table, p.title, p.side, p.quantity, writer);
    if (panel.series.empty()) continue;
    if (p.high > 0) panel.y_range = Range{0, p.high};
    curves.panels.push_back(std::move(panel));
  }
  if (curves.panels.empty()) return std::nullopt;
  StudyFigure figure{.name = "changes",
                     .figure = curves,
                     .csv = {},
                     .caption =
                         "Around changes: +1 is the first time a question is asked after the change of "
                         "its document, −1 the last time before it. Dashed: the null.",
                     .alt =
                         "Curves of exact match, answers that follow outdated versions and attention, by "
                         "place before and after a change, one line for each model."};
  figure.csv = figure_csv(figure.figure);
  return figure;
}

}  // namespace buoy
