// Drift as pictures: heatmaps of steps × positions, trails of the anchors, turnover by layer.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "buoy/analysis/drift.h"
#include "buoy/analysis/received.h"
#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/report/study_figures.h"

namespace buoy {
namespace {

constexpr float kNotSeen = std::numeric_limits<float>::quiet_NaN();
constexpr Index kLayerPanels = 4, kLabels = 9, kNeighbours = 8;

// Opacity of the lines of one model's bands of layers, from the shallow to the deep.
constexpr double kStrengths[] = {0.4, 0.68, 1};

// A panel being filled: steps × positions of r/r⁰, and how much each column stands out.
struct TemporalPanel {
  HeatmapPanel panel;
  std::map<Index, double> excess;  // of anchors, by column

  void add_step(const Received& row, std::span<const Index> anchors, Index N) {
    for (Index j = 0; j < N; ++j) {
      const bool there = j < row.size();
      panel.values.push_back(there ? static_cast<float>(row.share[at(j)] / row.null[at(j)]) : kNotSeen);
      panel.hatched.push_back(0);
    }
    for (const Index j : anchors) {
      panel.hatched[panel.hatched.size() - at(N) + at(j)] = 1;
      excess[j] += row.share[at(j)] - row.null[at(j)];
    }
    ++panel.rows;
  }

  // Names the columns that stand out most; of neighbours with the same text only the strongest.
  HeatmapPanel finish(const Trace& trace) {
    std::vector<std::pair<double, Index>> order;
    for (const auto& [column, weight] : excess) order.emplace_back(-weight, column);
    std::ranges::sort(order);
    for (const auto& [weight, column] : order) {
      if (std::ssize(panel.labels) == kLabels) break;
      const std::string text = mostly_mask(trace, column) ? "[mask]" : token_label(trace, column);
      const auto is_twin = [&, place = column](const ColumnLabel& other) {
        return other.text == text && std::abs(other.column - place) < kNeighbours;
      };
      if (std::ranges::any_of(panel.labels, is_twin)) continue;
      panel.labels.push_back({.column = column, .text = text, .weight = -weight});
    }
    return std::move(panel);
  }

 private:
  // Whether the column was an anchor mostly while it was still to be written.
  bool mostly_mask(const Trace& trace, Index column) const {
    Index as_mask = 0, as_anchor = 0;
    for (Index t = 0; t < panel.rows; ++t) {
      if (panel.hatched[at(t * panel.columns + column)] == 0) continue;
      ++as_anchor;
      if (trace.class_at(t, column) == TokenClass::kMask) ++as_mask;
    }
    return as_mask * 2 > as_anchor;
  }
};

HeatmapPanel layer_panel(const Trace& trace, Index l, Rows rows, const AnchorOptions& options) {
  TemporalPanel made{.panel = {.title = fmt::format("layer {}", trace.layers[at(l)]), .columns = trace.N()}};
  for (Index t = 0; t < trace.S(); ++t) {
    const Received row = step_received(trace, t, l, rows);
    made.add_step(row, row.anchors(options), trace.N());
  }
  return made.finish(trace);
}

HeatmapPanel mean_panel(const Trace& trace, Rows rows, const AnchorOptions& options) {
  TemporalPanel made{
      .panel = {.title = rows == Rows::kAll ? "mean over layers, all rows" : "mean over layers, read rows",
                .columns = trace.N()}};
  for (Index t = 0; t < trace.S(); ++t) {
    Received mean = step_received(trace, t, 0, rows);
    for (Index l = 1; l < trace.L(); ++l) {
      const Received row = step_received(trace, t, l, rows);
      for (Index j = 0; j < mean.size(); ++j) mean.share[at(j)] += row.share[at(j)];
    }
    for (double& share : mean.share) share /= static_cast<double>(trace.L());
    made.add_step(mean, mean.anchors(options), trace.N());
  }
  return made.finish(trace);
}

Heatmap temporal_heatmap(const Trace& trace) {
  Heatmap map{
      .note = fmt::format("{}, sample {}. Read rows: those whose logits decide the step's tokens.",
                          trace.header.model, trace.header.sample),
      .width = kTextWidth,
      .row_axis = {.title = "step"},
      .column_axis = {.title = "position"},
      .bands = region_bands(trace),
      .hatch_name = "anchor",
      .color = {.title = "× null (r/r⁰)", .map = ColorMap::kViridis, .scale = ValueScale::kLog, .low = 0.1}};
  for (const Index step : trace.steps.steps) map.row_axis.labels.push_back(fmt::to_string(step));
  return map;
}

// Up to kLayerPanels layers from the first to the last, evenly apart.
std::vector<Index> shown_layers(Index L) {
  std::vector<Index> layers;
  const Index count = std::min(L, kLayerPanels);
  for (Index i = 0; i < count; ++i) layers.push_back(count == 1 ? 0 : i * (L - 1) / (count - 1));
  return layers;
}

// What is looked at first is a picture: of two models, so that it stays a look.
bool opens_the_page(const StudyView& view, const Trace& trace) {
  const auto first = std::span(view.models()).first(std::min<std::size_t>(2, view.models().size()));
  return std::ranges::find(first, trace.header.model, &StudiedModel::name) != first.end();
}

void add_heatmaps(const StudyView& view, const Trace& trace, std::vector<StudyFigure>& figures) {
  const AnchorOptions& anchors = view.result().options.analysis.anchors;
  Heatmap mean = temporal_heatmap(trace);
  mean.panels = {mean_panel(trace, Rows::kAll, anchors), mean_panel(trace, Rows::kRead, anchors)};
  Heatmap layers = temporal_heatmap(trace);
  for (const Index l : shown_layers(trace.L()))
    layers.panels.push_back(layer_panel(trace, l, Rows::kAll, anchors));
  for (Heatmap* map : {&mean, &layers}) {
    for (HeatmapPanel& panel : map->panels) panel.swatch = view.color_of(trace.header.model);
  }
  const auto add = [&](const std::string& name, Heatmap map, const std::string& what) {
    std::string csv = figure_csv(map);
    figures.push_back(
        {.name = fmt::format("{}_{}", name, trace.header.model),
         .figure = std::move(map),
         .csv = std::move(csv),
         .caption = fmt::format("{}: received attention r of every position at every step, {}, in multiples "
                                "of its null r⁰: what the position would receive if every row looked evenly "
                                "at all it may see. Hatched cells are anchors, and tokens that are so most "
                                "strongly are named: one that stays is hatched from the first step to the "
                                "last, one that floats begins or ends on the way.",
                                trace.header.model, what),
         .alt = fmt::format("Heatmap of steps by positions for {}.", trace.header.model),
         .behind = {{.panel = {}, .model = trace.header.model, .sample = trace.header.sample}}});
  };
  add("drift_mean", std::move(mean), "averaged over layers");
  figures.back().opening = opens_the_page(view, trace);
  add("drift_layers", std::move(layers), "layer by layer, over all rows");
}

// Where the anchors of the shallow, middle and deep layers stand, step by step.
CurvePanel trail_panel(const StudyView& view, const Trace& trace, Rows rows) {
  const Index L = trace.L(), S = trace.S(), bands = std::min<Index>(3, L);
  const std::vector<AnchorSet> sets = anchor_sets(trace, view.result().options.analysis.anchors, rows);
  CurvePanel panel{.title = rows == Rows::kAll ? "all rows" : "read rows", .series = {}};
  for (const Band& band : region_bands(trace)) {
    panel.bands.push_back({.low = static_cast<double>(band.begin),
                           .high = static_cast<double>(band.end),
                           .name = band.name,
                           .marked = band.marked});
  }
  for (Index b = 0; b < bands; ++b) {
    const Index first = L * b / bands, last = L * (b + 1) / bands;
    Series series{.name = fmt::format("layers {}–{}", trace.layers[at(first)], trace.layers[at(last - 1)]),
                  .x = {},
                  .y = {},
                  .markers = Markers::kDots,
                  .color = view.color_of(trace.header.model),
                  .strength = kStrengths[at(3 - bands + b)]};
    for (Index t = 0; t < S; ++t) {
      double sum = 0, count = 0;
      for (Index l = first; l < last; ++l) {
        if (const auto centre = sets[at(t * L + l)].centre) {
          sum += *centre;
          count += 1;
        }
      }
      series.x.push_back(static_cast<double>(trace.steps.steps[at(t)]));
      series.y.push_back(count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN());
    }
    panel.series.push_back(std::move(series));
  }
  return panel;
}

StudyFigure trails(const StudyView& view, const Trace& trace) {
  Curves curves{
      .note = fmt::format("{}, sample {}. Mean position of the anchors of a step, weighted by excess.",
                          trace.header.model, trace.header.sample),
      .width = kTextWidth,
      .panels_across = 2,
      .panel_height = 170,
      .x_title = "step",
      .y_title = "position",
      .y_range = Range{0, static_cast<double>(trace.N())},
      .legend = LegendPlace::kAbove,
      .panels = {trail_panel(view, trace, Rows::kRead), trail_panel(view, trace, Rows::kAll)}};
  std::string csv = figure_csv(curves);
  return {.name = fmt::format("trails_{}", trace.header.model),
          .figure = std::move(curves),
          .csv = std::move(csv),
          .caption = fmt::format(
              "{}: trails of the anchors, one line for each band of layers, as the rows that are read "
              "see them and as all rows do. A flat line stays where it is; a sink at the first token "
              "runs along the bottom.",
              trace.header.model),
          .alt = fmt::format("Trails of anchor positions over steps for {}.", trace.header.model),
          .behind = {{.panel = {}, .model = trace.header.model, .sample = trace.header.sample}}};
}

}  // namespace

std::vector<StudyFigure> drift_figures(const StudyView& view) {
  std::vector<StudyFigure> figures;
  for (const StudiedModel& model : view.shown()) {
    if (model.examples.empty() || !has_steps(model.examples[0])) continue;
    add_heatmaps(view, model.examples[0], figures);
    figures.push_back(trails(view, model.examples[0]));
  }
  constexpr LayerCurves::Panel kPanels[] = {
      {"turnover, read rows", {"turnover", "read"}},
      {"float index, read rows", {"float_index", "read"}},
      {"first token strongest, read rows", {"first_token_share", "read"}},
      {"turnover, all rows", {"turnover", "all"}},
      {"float index, all rows", {"float_index", "all"}},
      {"first token strongest, all rows", {"first_token_share", "all"}}};
  for (StudyFigure& f : layer_curves(
           view,
           {.name = "drift_by_layer",
           .y_title = "share",
           .caption =
                "Turnover of the anchor set from step to step, float index from a layer to the next, and the "
                "share of steps in which the first token stands out most. 0: anchors stay; 1: all change.",
           .panels = kPanels})) {
    figures.push_back(std::move(f));
  }
  return figures;
}

}  // namespace buoy
