// Maps of layers × heads: retrieval heads and dormant heads.
#include <algorithm>
#include <cmath>

#include "buoy/base/error.h"
#include "buoy/report/study_figures.h"

namespace buoy {
namespace {

constexpr double kMapHeight = 150;

bool has_values(const HeatmapPanel& panel) {
  return std::ranges::any_of(panel.values, [](float v) { return std::isfinite(v); });
}

// One map of each model for one quantity, or nothing when no model has it.
std::vector<HeatmapPanel> maps_of(const StudyView& view, Quantity quantity) {
  std::vector<HeatmapPanel> panels;
  for (const StudiedModel& model : view.shown()) {
    HeatmapPanel panel = view.head_map(model, model.name, quantity);
    if (has_values(panel)) panels.push_back(std::move(panel));
  }
  return panels;
}

struct HeadMap {
  std::string_view name, color_title, caption;
  Quantity quantity;
  double high;  // of the colour scale; 0: from the data
  ValueScale scale = ValueScale::kLinear;
};

void add_map(const StudyView& view, const HeadMap& what, std::vector<StudyFigure>& figures) {
  std::vector<HeatmapPanel> panels = maps_of(view, what.quantity);
  if (panels.empty()) return;
  Heatmap map{.note = view.sample_note(),
              .width = panels.size() > 1 ? kTextWidth : kColumnWidth,
              .panels_across = panels.size() == 4 ? Index{4} : std::min<Index>(3, std::ssize(panels)),
              .panel_height = kMapHeight,
              .row_axis = {.title = "layer"},
              .column_axis = {.title = "head"},
              .row_order = RowOrder::kUp,
              .color = {.title = std::string(what.color_title),
                        .map = ColorMap::kTide,
                        .scale = what.scale,
                        .low = 0.0},
              .panels = std::move(panels)};
  if (what.high > 0) map.color.high = what.high;
  const Quantity quantities[] = {what.quantity};
  figures.push_back({.name = std::string(what.name),
                     .figure = std::move(map),
                     .csv = view.csv(quantities),
                     .caption = std::string(what.caption),
                     .alt = fmt::format("Maps of layers by heads: {}", what.caption)});
}

}  // namespace

std::vector<StudyFigure> head_figures(const StudyView& view) {
  constexpr HeadMap kMaps[] = {
      {"heads_copy",
       "copy score",
       "Copy score of every head: the share of the answer's tokens that stand in the evidence and that the "
       "head looks at "
       "most while they are written.",
       {"copy", "all"},
       1},
      {"heads_mass",
       "mass on evidence",
       "Attention that lies on the evidence while an answer token is written, mean over answer tokens.",
       {"mass", "all"},
       0},
      {"heads_lift",
       "× chance",
       "The same divided by chance, the evidence's share of visible keys. 1: as much as uniform attention.",
       {"lift", "all"},
       0},
  };
  std::vector<StudyFigure> figures;
  for (const HeadMap& map : kMaps) add_map(view, map, figures);
  return figures;
}

std::vector<StudyFigure> dormant_figures(const StudyView& view) {
  constexpr HeadMap kMaps[] = {
      {"dormant",
       "share of samples",
       "Share of samples on which a head is dormant: one key takes over half of its attention and its output "
       "is less than a "
       "fifth as long as a mean value.",
       {"dormant", ""},
       1},
      {"sink_share",
       "largest share",
       "Largest share of a head's attention that a single key receives, mean over samples.",
       {"sink_share", ""},
       1},
  };
  std::vector<StudyFigure> figures;
  for (const HeadMap& map : kMaps) add_map(view, map, figures);
  return figures;
}

}  // namespace buoy
