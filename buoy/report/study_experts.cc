// Experts: a map of their load, and by layer how evenly they are used and whether tokens keep them.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "buoy/report/study_figures.h"

namespace buoy {
namespace {

constexpr double kLoadHeight = 150;
constexpr Quantity kLoad{"expert_load", "finished"};

const Summary* load_of(const StudyView& view, const StudiedModel& model, Index layer, Index expert) {
  return view.find(
      model,
      {.quantity = std::string(kLoad.name), .part = std::string(kLoad.part), .layer = layer, .head = expert});
}

// Layers × experts; no rows for a model without experts.
HeatmapPanel load_map(const StudyView& view, const StudiedModel& model) {
  Index experts = 0;
  for (Index l = 0; l < model.layers; ++l) {
    Index here = 0;
    while (load_of(view, model, l, here) != nullptr) ++here;
    experts = std::max(experts, here);
  }
  HeatmapPanel panel{.title = model.name, .rows = experts > 0 ? model.layers : 0, .columns = experts};
  panel.swatch = view.color_of(model);
  for (Index l = 0; l < panel.rows; ++l) {
    for (Index e = 0; e < experts; ++e) {
      const Summary* s = load_of(view, model, l, e);
      panel.values.push_back(s != nullptr ? static_cast<float>(s->mean)
                                          : std::numeric_limits<float>::quiet_NaN());
    }
  }
  return panel;
}

std::vector<StudyFigure> load_maps(const StudyView& view) {
  Heatmap map{.note = view.sample_note(),
              .panels_across = 1,
              .panel_height = kLoadHeight,
              .row_axis = {.title = "layer"},
              .column_axis = {.title = "expert"},
              .row_order = RowOrder::kUp,
              .color = {.title = "× even", .map = ColorMap::kTide, .low = 0.0}};
  for (const StudiedModel& model : view.shown()) {
    HeatmapPanel panel = load_map(view, model);
    if (panel.rows > 0) map.panels.push_back(std::move(panel));
  }
  if (map.panels.empty()) return {};
  map.width = kTextWidth;
  const Quantity quantities[] = {kLoad};
  std::vector<StudyFigure> figures;
  figures.push_back({.name = "expert_load",
                     .figure = std::move(map),
                     .csv = view.csv(quantities),
                     .caption =
                         "Load of every expert over the finished sequence: the rows that go to it ÷ what "
                         "even routing would give it. Layers without experts are empty, and so is the "
                         "last one, of which only rows that are read are computed.",
                     .alt = "Maps of layers by experts: how many rows go to each."});
  return figures;
}

}  // namespace

bool has_experts(const StudyView& view) {
  return std::ranges::any_of(view.models(), [&](const StudiedModel& model) {
    Index l = 0;
    while (l < model.layers && load_of(view, model, l, 0) == nullptr) ++l;
    return l < model.layers;
  });
}

std::vector<StudyFigure> expert_figures(const StudyView& view) {
  std::vector<StudyFigure> figures = load_maps(view);
  constexpr LayerCurves::Panel kUse[] = {{"entropy of the load", {"expert_load_entropy", "finished"}},
                                         {"entropy of weights", {"expert_weight_entropy", "finished"}},
                                         {"agreement of two rows", {"expert_agreement", "finished"}}};
  constexpr LayerCurves::Panel kSteps[] = {{"words keep", {"expert_overlap", "words"}},
                                           {"masks keep", {"expert_overlap", "masks"}},
                                           {"mask becomes word", {"expert_overlap", "written"}}};
  const auto append = [&](std::vector<StudyFigure> more) {
    for (StudyFigure& f : more) figures.push_back(std::move(f));
  };
  append(layer_curves(
      view,
      {.name = "expert_use",
       .y_title = "",
       .caption = "How evenly experts are used on the finished sequence: entropy of the load and of a "
                  "row's weights, 1 meaning even, and how many experts two rows have in common, 0 meaning "
                  "as many as chance. Dashed: routing at random.",
       .panels = kUse}));
  append(layer_curves(
      view,
      {.name = "expert_overlap",
       .y_title = "agreement",
       .caption = "How many of its experts a position keeps from one step to the next, 1 meaning all and "
                  "0 as many as chance: words, masks, and masks that have become words.",
       .panels = kSteps}));
  return figures;
}

}  // namespace buoy
