// Region flow as matrices and bars, and how far the tasks' anchor profiles lie apart.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "buoy/analysis/table_csv.h"
#include "buoy/analysis/task_dependence.h"
#include "buoy/base/error.h"
#include "buoy/report/number_text.h"
#include "buoy/report/study_figures.h"

namespace buoy {
namespace {

constexpr Index kMatricesAcross = 2, kMostMatrices = 6;

// Names of the regions of all samples of a model, in the order of a prompt: BOS, Template, Query, Doc1 …,
// Answer, Tail.
std::vector<std::string> region_names(const StudyView& view, const StudiedModel& model,
                                      const std::string& gold, const std::string& quantity) {
  std::vector<std::string> names;
  const auto known = [&](const std::string& name) {
    return view.find_by_gold(model, gold, {.quantity = quantity, .part = name + ">" + name}) != nullptr;
  };
  const auto add = [&](const std::string& name) {
    if (known(name)) names.push_back(name);
  };
  for (const char* name : {"BOS", "Template", "Query"}) add(name);
  for (Index d = 1; known(fmt::format("Doc{}", d)); ++d) names.push_back(fmt::format("Doc{}", d));
  for (const char* name : {"Answer", "Tail"}) add(name);
  return names;
}

// The documents that a label "gold at 2+5" names.
std::vector<std::string> gold_documents(const std::string& label) {
  std::vector<std::string> documents;
  std::string number;
  for (const char c : label + "+") {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      number += c;
    } else if (!number.empty()) {
      documents.push_back("Doc" + std::exchange(number, {}));
    }
  }
  return documents;
}

// What rollout can see at all: "… mini-mdm: from 1.010 [1.000, 1.020] to 1.070–1.120 when in one layer, to
// 1.570 [1.500, 1.690] when in all". Empty where it is not known.
std::string sensitivity_text(const StudyView& view, std::span<const StudiedModel> models,
                             const std::string& pooling) {
  std::string text;
  for (const StudiedModel& model : models) {
    const Summary* measured = view.find(model, {.quantity = "gold_lift", .part = pooling});
    const Summary* forced = view.find(model, {.quantity = "rollout_sensitivity", .part = pooling});
    if (measured == nullptr || forced == nullptr) continue;
    double least = forced->mean, most = least;
    bool any = false;
    for (const Index layer : view.layers(model, {"layer_sensitivity", pooling})) {
      const double mean =
          view.find(model, {.quantity = "layer_sensitivity", .part = pooling, .layer = layer})->mean;
      least = any ? std::min(least, mean) : mean;
      most = any ? std::max(most, mean) : mean;
      any = true;
    }
    text += fmt::format("{} {}: from {} to {}–{} when in one layer, to {} when in all",
                        text.empty() ? "" : ";", model.name, interval_text(*measured), number_text(least),
                        number_text(most), interval_text(*forced));
  }
  if (text.empty()) return text;
  return " What rollout can see: how far sending all attention of the answer to gold would move the gold "
         "lift." +
         text + ".";
}

// One of the three ways to pool flow, as a figure.
struct FlowKind {
  const char *quantity, *pooling, *words;
};
constexpr FlowKind kFlowKinds[] = {
    {"flow_sum", "sum", ""},
    {"flow_per_token", "per-token", ", per token of the region it flows into"},
    {"flow_paper", "paper", ", between the paper's regions (no template, the tail with the answer)"}};

// Whose gold passage stands where. Tables by gold name a sample with its data before it: here it has its own
// id.
std::vector<FigureSample> samples_by_gold(const StudyView& view) {
  std::map<std::string, std::string> ids;
  for (const SampleKey& key : view.result().table.samples()) ids[key.data + "/" + key.sample] = key.sample;
  std::vector<FigureSample> samples;
  for (const SampleKey& key : view.result().by_gold.samples()) {
    if (const auto own = ids.find(key.sample); own != ids.end())
      samples.push_back({key.data, key.model, own->second});
  }
  return samples;
}

void add_matrices(const StudyView& view, const StudiedModel& model, const FlowKind& kind,
                  std::vector<StudyFigure>& figures) {
  const std::string quantity = kind.quantity;
  Heatmap map{
      .note = fmt::format("{}, finished sequence, rolled out over all layers; rows add up to 1.", model.name),
      .width = kTextWidth,
      .panels_across = kMatricesAcross,
      .row_axis = {.title = "from"},
      .column_axis = {.title = "into"},
      .outline_name = "gold passage",
      .color = {.title = "share of flow", .map = ColorMap::kTide, .low = 0.0},
      .numbers = CellNumbers::kShown};
  std::vector<std::string> names;
  std::vector<FigureSample> behind;
  for (const std::string& gold : view.gold_labels()) {
    if (gold.find('+') != gold.npos || std::ssize(map.panels) == kMostMatrices) continue;
    const std::vector<std::string> here = region_names(view, model, gold, quantity);
    if (here.empty() || (!names.empty() && here != names)) continue;
    names = here;
    const auto R = static_cast<Index>(names.size());
    HeatmapPanel panel{.rows = R, .columns = R};
    panel.swatch = view.color_of(model);
    Index n = 0;
    for (const std::string& from : names) {
      for (const std::string& into : names) {
        const Summary* s = view.find_by_gold(model, gold, {.quantity = quantity, .part = from + ">" + into});
        panel.values.push_back(s != nullptr ? static_cast<float>(s->mean)
                                            : std::numeric_limits<float>::quiet_NaN());
        if (s != nullptr) n = std::max(n, s->n);
      }
    }
    panel.title = fmt::format("{}, {} (n = {})", model.name, gold, n);
    for (const FigureSample& sample : samples_by_gold(view)) {
      if (sample.model == model.name && sample.panel == gold)
        behind.push_back({panel.title, sample.model, sample.sample});
    }
    for (const std::string& document : gold_documents(gold)) {
      const Index c = std::ranges::find(names, document) - names.begin();
      if (c < R)
        panel.outlined.push_back({.row_begin = 0, .row_end = R, .column_begin = c, .column_end = c + 1});
    }
    map.panels.push_back(std::move(panel));
  }
  if (map.panels.empty()) return;
  map.panels_across = std::min<Index>(kMatricesAcross, std::ssize(map.panels));
  map.row_axis.labels = map.column_axis.labels = names;
  std::string csv = figure_csv(map);
  figures.push_back(
      {.name = fmt::format("{}_{}", quantity, model.name),
       .figure = std::move(map),
       .csv = std::move(csv),
       .caption = fmt::format("{}: where the attention of each region ends up{}, by the place of the gold "
                              "passage (outlined).{}",
                              model.name, kind.words, sensitivity_text(view, {&model, 1}, kind.pooling)),
       .alt = fmt::format("Matrices of flow between regions for {}.", model.name),
       .behind = std::move(behind)});
}

Bar bar_of(const std::optional<KindNumber>& s) {
  if (!s) return {};
  Bar bar{.value = s->mean, .low = s->lo, .high = s->hi};
  if (s->null) bar.null = *s->null;
  return bar;
}

void add_gold_lift(const StudyView& view, std::vector<StudyFigure>& figures) {
  Bars bars{.note = view.sample_note() + " " + view.interval_note("Whiskers"),
            .width = kTextWidth,
            .y_title = "gold lift",
            .reference = ReferenceLine{.value = 1, .name = "no preference"},
            .labels = ValueLabels::kShown,
            .decimals = 2,
            .groups = {"all"}};
  constexpr std::size_t kMostGroups = 12;
  std::vector<std::string> labels = view.gold_labels();
  std::erase_if(labels, [](const std::string& s) { return s.find('+') != s.npos; });
  if (labels.size() > kMostGroups) labels.resize(kMostGroups);
  for (const std::string& label : labels) bars.groups.push_back(label);
  const ColumnKey key{.quantity = "gold_lift", .part = "per-token"};
  for (const StudiedKind& kind : view.kinds()) {
    BarSeries series{.name = kind.name, .bars = {bar_of(view.find(kind, key))}, .color = view.color_of(kind)};
    for (const std::string& label : labels)
      series.bars.push_back(bar_of(view.find_by_gold(kind, label, key)));
    bars.series.push_back(std::move(series));
  }
  const bool any =
      std::ranges::any_of(bars.series, [](const BarSeries& s) { return std::isfinite(s.bars[0].value); });
  if (!any) return;
  for (BarSeries& s : bars.series) {
    for (Bar& b : s.bars)
      b.null = std::numeric_limits<double>::quiet_NaN();  // 1 by definition: the reference line
  }
  std::vector<FigureSample> behind;
  for (const FigureSample& sample : samples_by_gold(view)) {
    behind.push_back({"all", sample.model, sample.sample});
    if (std::ranges::find(labels, sample.panel) != labels.end()) behind.push_back(sample);
  }
  std::string csv = figure_csv(bars);
  figures.push_back(
      {.name = "flow_gold_lift",
       .figure = std::move(bars),
       .csv = std::move(csv),
       .caption = "Rolled-out flow from the answer into the gold passage ÷ into the other passages, per "
                  "token, divided by "
                  "the same under uniform attention; 1 is no preference." +
                  sensitivity_text(view, view.models(), "per-token"),
       .alt = "Bars of gold lift by position of the gold passage.",
       .behind = std::move(behind)});
}

// The map's numbers with the permutation test's beside them, every pair once.
void append_distances(std::string& csv, const std::string& model, std::span<const TaskDistance> distances) {
  for (const TaskDistance& d : distances) {
    csv += fmt::format("{},{},{},{:.9g},{:.9g},{},{}\n", csv_field(model), csv_field(d.a), csv_field(d.b),
                       d.divergence, d.p, d.n_a, d.n_b);
  }
}

}  // namespace

std::vector<StudyFigure> flow_figures(const StudyView& view) {
  constexpr LayerCurves::Panel kDirect[] = {{"gold passage", {"direct_passages", "gold"}},
                                            {"other passages", {"direct_passages", "other"}}};
  constexpr LayerCurves::Panel kDirectLift[] = {{"gold ÷ other passages, ln", {"direct_gold_log", ""}}};
  std::vector<StudyFigure> figures = layer_curves(
      view,
      {.name = "flow_direct",
       .y_title = "attention per token",
       .caption =
           "Where the rows that write the answer look, in the pass that writes it: attention per token of "
           "the gold passage and of the other passages. Dashed: under uniform attention.",
       .panels = kDirect});
  for (StudyFigure& f : layer_curves(
           view,
           {.name = "flow_direct_lift",
           .y_title = "ln of the ratio",
           .caption =
                "The one over the other, as its natural logarithm; 0 is no preference, 0.7 twice as much.",
           .panels = kDirectLift})) {
    figures.push_back(std::move(f));
  }
  for (const FlowKind& kind : kFlowKinds) {
    for (const StudiedModel& model : view.shown()) add_matrices(view, model, kind, figures);
  }
  add_gold_lift(view, figures);
  constexpr LayerCurves::Panel kPanels[] = {{"answer into gold ÷ into others", {"answer_to_gold", ""}}};
  for (StudyFigure& f : layer_curves(
           view,
           {.name = "flow_by_layer",
           .y_title = "ratio",
           .caption = "The same ratio within each layer, under sum pooling; dashed: under uniform attention.",
           .panels = kPanels})) {
    figures.push_back(std::move(f));
  }
  return figures;
}

std::vector<StudyFigure> task_figures(const StudyView& view) {
  Heatmap map{
      .width = view.kinds().size() > 1 ? kTextWidth : kColumnWidth,
      .panels_across = view.kinds().size() == 4 ? Index{2} : std::min<Index>(3, std::ssize(view.kinds())),
      .outline_name = "p < 0.05",
      .color = {.title = "JS divergence, nats", .map = ColorMap::kTide, .low = 0.0},
      .numbers = CellNumbers::kShown,
      .decimals = 3};
  std::string csv = "panel,row,column,value,p,n_row,n_column\n";
  std::vector<FigureSample> behind;
  for (const StudiedModel& model : view.shown()) {
    const std::vector<TaskProfiles> tasks = task_profiles(view.result().table, {.model = model.name});
    const auto T = static_cast<Index>(tasks.size());
    if (T < 2) continue;
    std::vector<std::string> names;
    for (const TaskProfiles& t : tasks) names.push_back(t.task.empty() ? "(none)" : t.task);
    if (!map.row_axis.labels.empty() && map.row_axis.labels != names) continue;
    map.row_axis.labels = map.column_axis.labels = names;
    HeatmapPanel panel{.title = model.name, .rows = T, .columns = T};
    panel.swatch = view.color_of(model);
    panel.values.assign(static_cast<std::size_t>(T * T), 0.0f);
    const std::vector<TaskDistance> distances = task_dependence(tasks);
    append_distances(csv, model.name, distances);
    for (const SampleKey& key : view.result().table.samples()) {
      if (key.model == model.name) behind.push_back({model.name, key.model, key.sample});
    }
    for (const TaskDistance& d : distances) {
      const Index a = std::ranges::find(names, d.a) - names.begin(),
                  b = std::ranges::find(names, d.b) - names.begin();
      if (a >= T || b >= T) continue;
      for (const auto& [row, column] : {std::pair(a, b), std::pair(b, a)}) {
        panel.values[static_cast<std::size_t>(row * T + column)] = static_cast<float>(d.divergence);
        if (d.p < 0.05) {
          panel.outlined.push_back(
              {.row_begin = row, .row_end = row + 1, .column_begin = column, .column_end = column + 1});
        }
      }
    }
    map.panels.push_back(std::move(panel));
  }
  if (map.panels.empty()) return {};
  map.note = "Permutation test over samples, 1000 permutations.";
  return {
      {.name = "tasks",
       .figure = std::move(map),
       .csv = std::move(csv),
       .caption =
           "Distance between the anchor profiles of tasks: where, and on what kind of token, anchors stand. "
           "Outlined "
           "cells differ more than reshuffled samples do (p < 0.05, not corrected for the number of pairs).",
       .alt = "Matrix of distances between tasks.",
       .behind = std::move(behind)}};
}

}  // namespace buoy
