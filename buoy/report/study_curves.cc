// Curves over layers: what the analyses say of each layer, model beside model.
#include <algorithm>
#include <cmath>
#include <limits>

#include "buoy/base/error.h"
#include "buoy/report/study_figures.h"

namespace buoy {

namespace {

// What a panel shows, with some air: for panels whose quantities do not share an axis.
Range range_of(const CurvePanel& panel) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Series& s : panel.series) {
    for (const auto* values : {&s.y, &s.low, &s.high, &s.null}) {
      for (const double v : *values) {
        if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
      }
    }
  }
  if (!(low < high)) return {low - 0.5, high + 0.5};
  const double air = 0.06 * (high - low);
  // An axis that nearly reaches 0 begins there.
  return {low >= 0 && low < 0.35 * high ? 0 : low - air, high + air};
}

}  // namespace

std::vector<StudyFigure> layer_curves(const StudyView& view, const LayerCurves& what) {
  Curves curves{.note = view.sample_note() + " " + view.interval_note("Bands"),
                .x_title = "layer",
                .y_title = std::string(what.y_title),
                .legend = LegendPlace::kAbove};
  std::vector<Quantity> quantities;
  for (const LayerCurves::Panel& panel : what.panels) {
    CurvePanel made = view.panel(std::string(panel.title), panel.quantity);
    if (made.series.empty()) continue;
    if (what.y_title.empty()) made.y_range = range_of(made);
    curves.panels.push_back(std::move(made));
    quantities.push_back(panel.quantity);
  }
  if (curves.panels.empty()) return {};
  constexpr Index kMostAcross = 3;
  curves.panels_across = std::min<Index>(kMostAcross, std::ssize(curves.panels));
  curves.width = curves.panels.size() > 1 ? kTextWidth : kColumnWidth;
  std::string csv = view.csv(quantities);
  return {{.name = std::string(what.name),
           .figure = std::move(curves),
           .csv = std::move(csv),
           .caption = std::string(what.caption),
           .alt = fmt::format("Curves over layers: {}", what.caption)}};
}

std::vector<StudyFigure> absorption_figures(const StudyView& view) {
  constexpr LayerCurves::Panel kFinished[] = {{"first token", {"absorb_bos", "finished"}},
                                              {"anchors", {"absorb_anchors", "finished"}},
                                              {"strongest token", {"absorb_top1", "finished"}}};
  constexpr LayerCurves::Panel kWeighted[] = {{"first token", {"absorb_bos", "value-weighted"}},
                                              {"anchors", {"absorb_anchors", "value-weighted"}},
                                              {"strongest token", {"absorb_top1", "value-weighted"}}};
  std::vector<StudyFigure> figures = layer_curves(
      view,
      {.name = "absorption",
       .y_title = "attention absorbed, %",
       .caption =
           "Share of all attention that the first token, the anchors and the strongest token receive, on the "
           "finished sequence. Dashed: the same under uniform attention.",
       .panels = kFinished});
  for (StudyFigure& f : layer_curves(view, {.name = "absorption_value_weighted",
                                           .y_title = "weighted by value norms, %",
                                           .caption = "The same weighted by the length of the values: what "
                                                      "is carried on. A sink with an empty value "
                                                      "absorbs attention but carries little.",
                                           .panels = kWeighted})) {
    figures.push_back(std::move(f));
  }
  return figures;
}

std::vector<StudyFigure> salience_figures(const StudyView& view) {
  constexpr LayerCurves::Panel kKept[] = {{"kept, mean over heads", {"top_kept", "mean writing"}},
                                          {"kept, single heads", {"top_kept", "head writing"}},
                                          {"kept, same rows", {"top_kept", "fixed writing"}},
                                          {"named by mean scores", {"proxy_recall", "lag 0 writing"}},
                                          {"named a step before", {"proxy_recall", "lag 1 writing"}},
                                          {"named by masks alone", {"mask_query_agreement", "writing"}}};
  constexpr LayerCurves::Panel kPeak[] = {{"read rows", {"peak_spread", "read writing"}},
                                          {"all rows", {"peak_spread", "all writing"}}};
  std::vector<StudyFigure> figures = layer_curves(
      view,
      {.name = "salience",
       .y_title = "agreement beyond chance",
       .caption =
           "The tenth of the keys that receives most attention: how much of it is still on top one step "
           "later, and how much of it could be named from mean scores or by the masks alone. "
           "1: all of it; 0: as much as chance. Steps that write the answer.",
       .panels = kKept});
  for (StudyFigure& f :
       layer_curves(view, {.name = "salience_peak",
                          .y_title = "deviation ÷ N",
                          .caption = "How far the most attended position wanders over the steps "
                                     "that write the answer.",
                          .panels = kPeak})) {
    figures.push_back(std::move(f));
  }
  return figures;
}

std::vector<StudyFigure> key_figures(const StudyView& view) {
  constexpr LayerCurves::Panel kPanels[] = {{"most attended keys", {"key_change", "top"}},
                                            {"the rest", {"key_change", "rest"}},
                                            {"after the commit − later", {"key_change", "settling"}}};
  return layer_curves(
      view, {.name = "key_change",
             .y_title = "",
             .caption = "How far keys turn from a step to the next, 1 − cosine: the tenth that receives most "
                        "attention, the rest, "
                        "and how much more a token's key turns right after it was written than later.",
             .panels = kPanels});
}

std::vector<StudyFigure> concentration_figures(const StudyView& view) {
  constexpr LayerCurves::Panel kPanels[] = {{"effective share of keys", {"effective_share", ""}},
                                            {"Gini of received attention", {"gini", ""}},
                                            {"entropy of rows, nats", {"row_entropy", ""}}};
  return layer_curves(
      view, {.name = "concentration",
             .y_title = "",
             .caption = "How evenly keys share attention: effective share of keys exp(entropy)/N, Gini "
                        "coefficient, and the mean entropy of single rows. Means over heads.",
             .panels = kPanels});
}

std::vector<StudyFigure> class_figures(const StudyView& view) {
  constexpr LayerCurves::Panel kPanels[] = {{"structure, finished", {"structural_lift", "finished"}},
                                            {"content, finished", {"content_lift", "finished"}},
                                            {"masks, while writing", {"class_lift", "steps:mask"}},
                                            {"structure, while writing", {"structural_lift", "steps"}},
                                            {"content, while writing", {"content_lift", "steps"}},
                                            {"first token, finished", {"class_lift", "finished:bos"}}};
  std::vector<StudyFigure> figures = layer_curves(
      view, {.name = "classes",
             .y_title = "",
             .caption = "Lift of token classes: share of attention ÷ share of positions; 1 is what their "
                        "number alone would "
                        "bring. Structure: white space, punctuation, template and function words.",
             .panels = kPanels});
  Bars bars{.note = view.sample_note() + " " + view.interval_note("Whiskers"),
            .y_title = "lift, shallow − deep third",
            .labels = ValueLabels::kShown,
            .decimals = 2,
            .groups = {"structure", "content"}};
  const Quantity kContrasts[] = {{"structural_contrast", "finished"}, {"content_contrast", "finished"}};
  for (const StudiedKind& kind : view.kinds()) {
    BarSeries series{.name = kind.name, .bars = {}, .color = view.color_of(kind)};
    for (const Quantity& q : kContrasts) {
      const auto s = view.find(kind, {.quantity = std::string(q.name), .part = std::string(q.part)});
      if (!s) {
        series.bars.push_back({});
        continue;
      }
      series.bars.push_back({.value = s->mean, .low = s->lo, .high = s->hi});
      if (s->null) series.bars.back().null = *s->null;
    }
    bars.series.push_back(std::move(series));
  }
  figures.push_back(
      {.name = "classes_contrast",
       .figure = std::move(bars),
       .csv = view.csv(kContrasts),
       .caption = "Depth contrast: above 0, shallow layers favour the class more than deep ones.",
       .alt = "Bars of the depth contrast of structure and content, model beside model."});
  return figures;
}

}  // namespace buoy
