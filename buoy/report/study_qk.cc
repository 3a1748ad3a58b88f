// Why anchors attract: advantage and attribution by layer, and the three matrices of one head.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "buoy/analysis/received.h"
#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/report/study_figures.h"

namespace buoy {
namespace {

// Cosine lies in a fixed range and has a sign; scores have a sign; norms do not.
struct Kind {
  const char* title;
  const std::vector<float> QkExample::*matrix;
  const std::vector<float> FinishedRecord::*means;
  ColorMap map;
};
constexpr std::array<Kind, 3> kKinds = {{
    {"score q·k", &QkExample::score, &FinishedRecord::score_means, ColorMap::kDiverging},
    {"cosine", &QkExample::cosine, &FinishedRecord::cosine_means, ColorMap::kDiverging},
    {"norm ‖q‖‖k‖", &QkExample::norm, &FinishedRecord::norm_means, ColorMap::kTide},
}};

// Layers × positions of the column means: what each key brings along, with the anchors of each layer hatched.
StudyFigure column_means(const StudyView& view, const Trace& trace) {
  const Index L = trace.L(), H = trace.H(), N = trace.N();
  Heatmap map{.note = fmt::format(
                  "{}, sample {}, finished sequence; mean over heads and over the queries that see the key.",
                  trace.header.model, trace.header.sample),
              .width = kTextWidth,
              .row_axis = {.title = "layer"},
              .column_axis = {.title = "position"},
              .row_order = RowOrder::kUp,
              .bands = region_bands(trace),
              .hatch_name = "anchor"};
  for (const Index layer : trace.layers) map.row_axis.labels.push_back(fmt::to_string(layer));
  for (const Kind& kind : kKinds) {
    HeatmapPanel panel{.title = kind.title, .rows = L, .columns = N};
    panel.swatch = view.color_of(trace.header.model);
    panel.color = ColorScale{.map = kind.map};
    const std::vector<float>& means = trace.finished.*kind.means;
    for (Index l = 0; l < L; ++l) {
      for (Index j = 0; j < N; ++j) {
        double sum = 0;
        for (Index h = 0; h < H; ++h) sum += means[at((l * H + h) * N + j)];
        panel.values.push_back(static_cast<float>(sum / static_cast<double>(H)));
      }
      std::vector<std::int8_t> hatched(at(N), 0);
      for (const Index j : finished_received(trace, l).anchors(view.result().options.analysis.anchors))
        hatched[at(j)] = 1;
      panel.hatched.insert(panel.hatched.end(), hatched.begin(), hatched.end());
    }
    map.panels.push_back(std::move(panel));
  }
  std::string csv = figure_csv(map);
  return {.name = fmt::format("qk_columns_{}", trace.header.model),
          .figure = std::move(map),
          .csv = std::move(csv),
          .caption = fmt::format(
              "{}: mean score, cosine and norm that every key meets in every layer. Hatched: the layer's "
              "anchors.",
              trace.header.model),
          .alt = fmt::format("Heatmaps of layers by positions of score, cosine and norm for {}.",
                             trace.header.model)};
}

// The N×N matrices of one head; the columns of its anchors are named.
StudyFigure matrices(const StudyView& view, const Trace& trace, const QkExample& example) {
  const Index N = trace.N();
  const Index l = std::ranges::find(trace.layers, example.layer) - trace.layers.begin();
  std::vector<Index> anchors;
  if (l < trace.L())
    anchors = finished_received(trace, l, example.head).anchors(view.result().options.analysis.anchors);
  Heatmap map{.note = fmt::format("{}, sample {}, layer {}, head {}.", trace.header.model,
                                  trace.header.sample, example.layer, example.head),
              .width = kTextWidth,
              .panels_across = 3,
              .row_axis = {.title = "query"},
              .column_axis = {.title = "key"},
              .bands = region_bands(trace)};
  for (const Kind& kind : kKinds) {
    HeatmapPanel panel{.title = kind.title, .rows = N, .columns = N, .values = example.*kind.matrix};
    panel.swatch = view.color_of(trace.header.model);
    panel.color = ColorScale{.map = kind.map};
    for (const Index j : anchors) {
      panel.labels.push_back({.column = j, .text = token_label(trace, j), .weight = 1});
    }
    map.panels.push_back(std::move(panel));
  }
  std::string csv = figure_csv(map);
  return {.name = fmt::format("qk_matrix_{}_layer{}_head{}", trace.header.model, example.layer, example.head),
          .figure = std::move(map),
          .csv = std::move(csv),
          .caption = fmt::format(
              "{}: score, cosine and norm of every query and key of layer {}, head {}. Named columns are "
              "this head's anchors.",
              trace.header.model, example.layer, example.head),
          .alt = "Three matrices of queries by keys."};
}

}  // namespace

std::vector<StudyFigure> qk_figures(const StudyView& view) {
  constexpr LayerCurves::Panel kAdvantage[] = {
      {"Δ score", {"delta_score", ""}}, {"Δ cosine", {"delta_cosine", ""}}, {"Δ norm", {"delta_norm", ""}}};
  constexpr LayerCurves::Panel kAttribution[] = {{"angle", {"attribution_angle", ""}},
                                                 {"scale", {"attribution_scale", ""}},
                                                 {"together", {"attribution_covariance", ""}}};
  std::vector<StudyFigure> figures;
  for (const StudiedModel& model : view.models()) {
    if (model.examples.empty()) continue;
    figures.push_back(column_means(view, model.examples[0]));
    for (const QkExample& example : model.qk) figures.push_back(matrices(view, model.examples[0], example));
  }
  const auto append = [&](std::vector<StudyFigure> more) {
    for (StudyFigure& f : more) figures.push_back(std::move(f));
  };
  append(layer_curves(
      view,
      {.name = "qk_advantage",
       .y_title = "",
       .caption = "Advantage of anchors over the other keys: difference of mean score, cosine and norm. "
                  "Layers without anchors in any sample have no point.",
       .panels = kAdvantage}));
  append(layer_curves(
      view,
      {.name = "qk_attribution",
       .y_title = "part of Δ score",
       .caption = "The anchors' lead in score, split exactly into direction (angle), key length (scale) and "
                  "what the two do together.",
       .panels = kAttribution}));
  return figures;
}

}  // namespace buoy
