// Why anchors attract: advantage and attribution by layer, what every key brings along, and the three
// matrices of one head. State space layers, whose scores have a third factor and another unit, stand apart
// from attention.
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
  ColorMap map;
};
constexpr std::array<Kind, 3> kKinds = {{
    {"score q·k", &QkExample::score, ColorMap::kDiverging},
    {"cosine", &QkExample::cosine, ColorMap::kDiverging},
    {"norm ‖q‖‖k‖", &QkExample::norm, ColorMap::kTide},
}};

// What a key meets on the mean over queries. Of state space layers score = norm·cosine·recency, none below 0.
struct KeyFactor {
  const char* title;
  const std::vector<float> FinishedRecord::*means;
  ColorMap map;
};
constexpr std::array<KeyFactor, 3> kKeyFactors = {{
    {"score q·k", &FinishedRecord::score_means, ColorMap::kDiverging},
    {"cosine", &FinishedRecord::cosine_means, ColorMap::kDiverging},
    {"norm ‖q‖‖k‖", &FinishedRecord::norm_means, ColorMap::kTide},
}};
constexpr std::array<KeyFactor, 4> kSsdKeyFactors = {{
    {"score", &FinishedRecord::score_means, ColorMap::kTide},
    {"cosine", &FinishedRecord::cosine_means, ColorMap::kTide},
    {"norm", &FinishedRecord::norm_means, ColorMap::kTide},
    {"recency", &FinishedRecord::recency_means, ColorMap::kTide},
}};

std::vector<Index> layers_with(const Trace& trace, MixerKind mixer) {
  std::vector<Index> layers;
  for (Index l = 0; l < trace.L(); ++l) {
    if (trace.mixer(l) == mixer) layers.push_back(l);
  }
  return layers;
}

// Layers × positions, mean over heads.
HeatmapPanel column_panel(const StudyView& view, const Trace& trace, const KeyFactor& kind,
                          std::span<const Index> layers) {
  const Index H = trace.H(), N = trace.N();
  HeatmapPanel panel{.title = kind.title, .rows = std::ssize(layers), .columns = N};
  panel.swatch = view.color_of(trace.header.model);
  panel.color = ColorScale{.map = kind.map};
  const std::vector<float>& means = trace.finished.*kind.means;
  for (const Index l : layers) {
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
  return panel;
}

// What each key brings along in the layers of one mixer, with the anchors of each layer hatched.
StudyFigure column_means(const StudyView& view, const Trace& trace, MixerKind mixer) {
  const bool ssd = mixer == MixerKind::kSsd;
  const std::vector<Index> layers = layers_with(trace, mixer);
  Heatmap map{
      .note = fmt::format("{}, sample {}, finished sequence; mean over heads and over the queries that "
                          "see the key.",
                          trace.header.model, trace.header.sample),
      .width = kTextWidth,
      .row_axis = {.title = "layer"},
      .column_axis = {.title = "position"},
      .row_order = RowOrder::kUp,
      .bands = region_bands(trace),
      .hatch_name = "anchor"};
  for (const Index l : layers) map.row_axis.labels.push_back(fmt::to_string(trace.layers[at(l)]));
  const auto kinds =
      ssd ? std::span<const KeyFactor>(kSsdKeyFactors) : std::span<const KeyFactor>(kKeyFactors);
  for (const KeyFactor& kind : kinds) map.panels.push_back(column_panel(view, trace, kind, layers));
  std::string csv = figure_csv(map);
  const char* what =
      ssd ? "score and its three factors, cosine, norm and recency" : "mean score, cosine and norm";
  return {
      .name = fmt::format("{}_{}", ssd ? "qk_ssd_columns" : "qk_columns", trace.header.model),
      .figure = std::move(map),
      .csv = std::move(csv),
      .caption = fmt::format("{}: {} that every key meets in every {}. Hatched: the layer's anchors.",
                             trace.header.model, what, ssd ? "state space layer" : "layer with attention"),
      .alt = fmt::format("Heatmaps of layers by positions of {} for {}.", what, trace.header.model),
      .behind = {{.panel = {}, .model = trace.header.model, .sample = trace.header.sample}}};
}

// By layer: what attention layers and what state space layers have, apart, since their scores have other
// units.
void add_layer_curves(const StudyView& view, std::vector<StudyFigure>& figures) {
  constexpr LayerCurves::Panel kAdvantage[] = {
      {"Δ score", {"delta_score", ""}}, {"Δ cosine", {"delta_cosine", ""}}, {"Δ norm", {"delta_norm", ""}}};
  constexpr LayerCurves::Panel kAttribution[] = {{"angle", {"attribution_angle", ""}},
                                                 {"scale", {"attribution_scale", ""}},
                                                 {"together", {"attribution_covariance", ""}}};
  constexpr LayerCurves::Panel kSsdAdvantage[] = {{"Δ cosine", {"delta_cosine", "ssd"}},
                                                  {"Δ norm", {"delta_norm", "ssd"}},
                                                  {"Δ recency", {"delta_recency", "ssd"}}};
  constexpr LayerCurves::Panel kSsdAttribution[] = {{"angle", {"attribution_angle", "ssd"}},
                                                    {"scale", {"attribution_scale", "ssd"}},
                                                    {"recency", {"attribution_recency", "ssd"}}};
  const LayerCurves kCurves[] = {
      {.name = "qk_advantage",
       .y_title = "",
       .caption =
           "Advantage of anchors over the other keys: difference of mean score, cosine and norm, in layers "
           "with attention. Layers without anchors in any sample have no point.",
       .panels = kAdvantage},
      {.name = "qk_attribution",
       .y_title = "part of Δ score",
       .caption = "The anchors' lead in score, split exactly into direction (angle), key length (scale) and "
                  "what the "
                  "two do together.",
       .panels = kAttribution},
      {.name = "qk_ssd_advantage",
       .y_title = "",
       .caption = "The same of state space layers: difference of mean cosine, norm and recency, the three "
                  "factors of "
                  "their score.",
       .panels = kSsdAdvantage},
      {.name = "qk_ssd_attribution",
       .y_title = "part of Δ ln score",
       .caption = "The anchors' lead in the logarithm of the score of state space layers, split exactly into "
                  "direction (angle), length of key and step (scale), and nearness to the rows that read it "
                  "(recency).",
       .panels = kSsdAttribution}};
  for (const LayerCurves& curves : kCurves) {
    for (StudyFigure& f : layer_curves(view, curves)) figures.push_back(std::move(f));
  }
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
          .alt = "Three matrices of queries by keys.",
          .behind = {{.panel = {}, .model = trace.header.model, .sample = trace.header.sample}}};
}

}  // namespace

std::vector<StudyFigure> qk_figures(const StudyView& view) {
  std::vector<StudyFigure> figures;
  for (const StudiedModel& model : view.shown()) {
    if (model.examples.empty()) continue;
    const Trace& trace = model.examples[0];
    for (const MixerKind mixer : {MixerKind::kAttention, MixerKind::kSsd}) {
      if (!layers_with(trace, mixer).empty()) figures.push_back(column_means(view, trace, mixer));
    }
    for (const QkExample& example : model.qk) figures.push_back(matrices(view, trace, example));
  }
  add_layer_curves(view, figures);
  return figures;
}

}  // namespace buoy
