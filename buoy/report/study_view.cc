#include "buoy/report/study_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

const Summary* lookup(const std::map<ColumnKey, Summary>& index, const ColumnKey& key) {
  const auto found = index.find(key);
  return found == index.end() ? nullptr : &found->second;
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "";
}

double value_at(const std::vector<double>& values, std::size_t i) {
  return i < values.size() ? values[i] : std::numeric_limits<double>::quiet_NaN();
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string csv_of(const Heatmap& map) {
  std::string out = "panel,row,column,value,hatched\n";
  const auto label = [](const CellAxis& axis, Index i) {
    return axis.labels.empty() ? fmt::to_string(axis.first + i) : axis.labels[static_cast<std::size_t>(i)];
  };
  for (const HeatmapPanel& panel : map.panels) {
    for (Index r = 0; r < panel.rows; ++r) {
      for (Index c = 0; c < panel.columns; ++c) {
        const auto cell = static_cast<std::size_t>(r * panel.columns + c);
        out += fmt::format("{},{},{},{},{}\n", csv_field(panel.title), csv_field(label(map.row_axis, r)),
                           csv_field(label(map.column_axis, c)), csv_number(panel.values[cell]),
                           panel.hatched.empty() ? 0 : panel.hatched[cell]);
      }
    }
  }
  return out;
}

std::string csv_of(const Curves& curves) {
  std::string out = "panel,series,x,y,lo,hi,null\n";
  for (const CurvePanel& panel : curves.panels) {
    for (const Series& s : panel.series) {
      for (std::size_t i = 0; i < s.x.size(); ++i) {
        out += fmt::format("{},{},{},{},{},{},{}\n", csv_field(panel.title), csv_field(s.name),
                           csv_number(s.x[i]), csv_number(s.y[i]), csv_number(value_at(s.low, i)),
                           csv_number(value_at(s.high, i)), csv_number(value_at(s.null, i)));
      }
    }
  }
  return out;
}

std::string csv_of(const Bars& bars) {
  std::string out = "series,group,value,lo,hi,null\n";
  for (const BarSeries& s : bars.series) {
    for (std::size_t g = 0; g < s.bars.size(); ++g) {
      const Bar& b = s.bars[g];
      out += fmt::format("{},{},{},{},{},{}\n", csv_field(s.name), csv_field(bars.groups[g]),
                         csv_number(b.value), csv_number(b.low), csv_number(b.high), csv_number(b.null));
    }
  }
  return out;
}

std::string csv_of(const Forest& forest) {
  std::string out = "group,name,detail,value,lo,hi,text\n";
  for (const ForestRow& r : forest.rows) {
    out += fmt::format("{},{},{},{},{},{},{}\n", csv_field(r.group), csv_field(r.name), csv_field(r.detail),
                       csv_number(r.value), csv_number(r.low), csv_number(r.high), csv_field(r.text));
  }
  return out;
}

std::vector<StudiedKind> kinds_of(const StudyResult& result) {
  std::vector<StudiedKind> kinds;
  for (const StudiedModel& model : result.models) {
    const std::string& name = model.kind.empty() ? model.name : model.kind;
    auto found = std::ranges::find(kinds, name, &StudiedKind::name);
    if (found == kinds.end()) found = kinds.insert(kinds.end(), StudiedKind{.name = name, .models = {}});
    found->models.push_back(&model);
  }
  return kinds;
}

// Of the models of one kind; nullptr of one that does not have it.
std::optional<KindNumber> number_of_kind(std::vector<const Summary*> models) {
  std::erase(models, nullptr);
  if (models.empty()) return std::nullopt;
  const Summary& first = *models.front();
  if (models.size() == 1) {
    return KindNumber{.mean = first.mean,
                      .lo = first.lo.value_or(first.mean),
                      .hi = first.hi.value_or(first.mean),
                      .null = first.null};
  }
  const auto count = static_cast<double>(models.size());
  KindNumber made{.mean = 0, .lo = first.mean, .hi = first.mean, .null = 0.0};
  for (const Summary* s : models) {
    made.mean += s->mean / count;
    made.lo = std::min(made.lo, s->mean);
    made.hi = std::max(made.hi, s->mean);
    made.null = made.null && s->null ? std::optional(*made.null + *s->null / count) : std::nullopt;
  }
  return made;
}

// Over the model's samples that have the number.
std::optional<double> mean_in(const SampleTable& table, const StudiedModel& model, const ColumnKey& key) {
  const auto column = table.columns().find(key);
  if (column == table.columns().end()) return std::nullopt;
  return ratio_of(dense(column->second, table.select({.model = model.name})).ratios());
}

std::set<Index> as_set(const std::vector<Index>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

StudyView::Index1 StudyView::index(const std::vector<Summary>& summaries) {
  Index1 made;
  for (const Summary& s : summaries) {
    made.emplace(ColumnKey{.quantity = s.quantity, .part = s.part, .layer = s.layer, .head = s.head}, s);
  }
  return made;
}

StudyView::StudyView(const StudyResult& result) : result_(&result), kinds_(kinds_of(result)) {
  std::set<std::string> labels;
  for (const SampleKey& key : result.by_gold.samples()) labels.insert(key.data);
  for (const StudiedModel& model : result.models) {
    all_[model.name] = index(result.table.summaries({.model = model.name}, Intervals::kNotPerHead));
    means_[model.name] = index(result.layer_means.summaries({.model = model.name}));
    for (const std::string& label : labels) {
      by_gold_[{model.name, label}] = index(result.by_gold.summaries({.model = model.name, .data = label}));
    }
  }
}

std::vector<std::reference_wrapper<const StudiedModel>> StudyView::shown() const {
  std::vector<std::reference_wrapper<const StudiedModel>> shown;
  for (const StudiedKind& kind : kinds_) shown.emplace_back(*kind.models.front());
  return shown;
}

Index StudyView::color_of(const StudiedModel& model) const {
  return color_of(model.name);
}

Index StudyView::color_of(const std::string& model) const {
  const auto of_kind = [&](const StudiedKind& kind) {
    return std::ranges::any_of(kind.models, [&](const StudiedModel* m) { return m->name == model; });
  };
  const Index place = std::ranges::find_if(kinds_, of_kind) - kinds_.begin();
  return place % kSeriesColorCount;
}

std::optional<KindNumber> StudyView::find(const StudiedKind& kind, const ColumnKey& key) const {
  std::vector<const Summary*> found;
  for (const StudiedModel* model : kind.models) found.push_back(find(*model, key));
  return number_of_kind(found);
}

std::optional<KindNumber> StudyView::find_by_gold(const StudiedKind& kind, const std::string& gold,
                                                  const ColumnKey& key) const {
  std::vector<const Summary*> found;
  for (const StudiedModel* model : kind.models) found.push_back(find_by_gold(*model, gold, key));
  return number_of_kind(found);
}

std::optional<double> StudyView::recency_of(const StudiedModel& model, const ColumnKey& key) const {
  if (!has_recency()) return std::nullopt;
  return mean_in(recency()->table, model, key);
}

std::optional<double> StudyView::recency_mean_of(const StudiedModel& model, Quantity quantity) const {
  if (!has_recency()) return std::nullopt;
  return mean_in(recency()->layer_means, model,
                 {.quantity = std::string(quantity.name), .part = std::string(quantity.part)});
}

const CollectedNull* StudyView::recency() const {
  const auto found = std::ranges::find(result_->nulls, NullKind::kRecency, &CollectedNull::kind);
  return found == result_->nulls.end() ? nullptr : &*found;
}

std::string StudyView::interval_note(const char* what) const {
  std::string note = fmt::format("{}: 95 % bootstrap intervals over questions", what);
  const auto several = [](const StudiedKind& kind) { return kind.models.size() > 1; };
  if (std::ranges::any_of(kinds_, several)) {
    note += "; of a kind with several models from the lowest to the highest model, around their mean";
  }
  return note + ".";
}

const Summary* StudyView::find(const StudiedModel& model, const ColumnKey& key) const {
  return lookup(all_.at(model.name), key);
}

const Summary* StudyView::find_mean(const StudiedModel& model, Quantity quantity) const {
  return lookup(means_.at(model.name),
                {.quantity = std::string(quantity.name), .part = std::string(quantity.part)});
}

const Summary* StudyView::find_by_gold(const StudiedModel& model, const std::string& gold,
                                       const ColumnKey& key) const {
  const auto found = by_gold_.find({model.name, gold});
  return found == by_gold_.end() ? nullptr : lookup(found->second, key);
}

std::vector<std::string> StudyView::gold_labels() const {
  std::set<std::string> names;
  for (const auto& [key, index] : by_gold_) names.insert(key.second);
  std::vector<std::string> labels(names.begin(), names.end());
  // "gold at 10" after "gold at 2", pairs last.
  std::ranges::stable_sort(
      labels, {}, [](const std::string& s) { return std::pair(std::ranges::count(s, '+'), std::ssize(s)); });
  return labels;
}

std::vector<Index> StudyView::layers(const StudiedModel& model, Quantity quantity) const {
  std::vector<Index> layers;
  for (const auto& [key, summary] : all_.at(model.name)) {
    if (key.quantity == quantity.name && key.part == quantity.part && key.layer >= 0 &&
        (layers.empty() || layers.back() != key.layer)) {
      layers.push_back(key.layer);
    }
  }
  std::ranges::sort(layers);
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

CurvePanel StudyView::panel(const std::string& title, Quantity quantity) const {
  CurvePanel panel{.title = title, .series = {}};
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto key = [](Quantity q, Index layer) {
    return ColumnKey{.quantity = std::string(q.name), .part = std::string(q.part), .layer = layer};
  };
  for (const StudiedKind& kind : kinds_) {
    Series series{.name = kind.name, .x = {}, .y = {}, .markers = Markers::kDots, .color = color_of(kind)};
    std::set<Index> known;
    for (const StudiedModel* model : kind.models) known.merge(as_set(layers(*model, quantity)));
    for (const Index layer : known) {
      const auto s = find(kind, key(quantity, layer));
      if (!s) continue;
      series.x.push_back(static_cast<double>(layer));
      series.y.push_back(s->mean);
      series.low.push_back(s->lo);
      series.high.push_back(s->hi);
      series.null.push_back(s->null.value_or(kNone));
    }
    if (std::ranges::all_of(series.null, [](double x) { return std::isnan(x); })) series.null.clear();
    if (!series.x.empty()) panel.series.push_back(std::move(series));
  }
  return panel;
}

HeatmapPanel StudyView::head_map(const StudiedModel& model, const std::string& title,
                                 Quantity quantity) const {
  HeatmapPanel panel{.title = title, .rows = model.layers, .columns = model.heads};
  panel.swatch = color_of(model);
  for (Index l = 0; l < model.layers; ++l) {
    for (Index h = 0; h < model.heads; ++h) {
      const Summary* s = find(model, {.quantity = std::string(quantity.name),
                                      .part = std::string(quantity.part),
                                      .layer = l,
                                      .head = h});
      panel.values.push_back(s != nullptr ? static_cast<float>(s->mean)
                                          : std::numeric_limits<float>::quiet_NaN());
    }
  }
  return panel;
}

std::string StudyView::csv(std::span<const Quantity> quantities) const {
  std::vector<GroupSummaries> groups;
  for (const StudiedModel& model : models()) {
    GroupSummaries group{.group = {.model = model.name}, .summaries = {}};
    for (const auto& entry : all_.at(model.name)) {
      const auto wanted = [&](const Quantity& q) {
        return q.name == entry.first.quantity && q.part == entry.first.part;
      };
      if (std::ranges::any_of(quantities, wanted)) group.summaries.push_back(entry.second);
    }
    groups.push_back(std::move(group));
  }
  return summaries_csv(groups);
}

std::string StudyView::whole_csv() const {
  std::vector<GroupSummaries> groups;
  for (const StudiedModel& model : models()) {
    GroupSummaries group{.group = {.model = model.name}, .summaries = {}};
    for (const auto& [key, summary] : all_.at(model.name)) group.summaries.push_back(summary);
    groups.push_back(std::move(group));
  }
  return summaries_csv(groups);
}

std::string StudyView::sample_note() const {
  std::string note;
  for (const StudiedKind& kind : kinds_) {
    const auto [least, most] = std::ranges::minmax_element(kind.models, {}, &StudiedModel::samples);
    const std::string count = kind.models.size() == 1 ? "" : fmt::format("{} models, ", kind.models.size());
    note += fmt::format("{}{}: {}n = {}", note.empty() ? "" : " · ", kind.name, count, (*least)->samples);
    if ((*most)->samples != (*least)->samples) note += fmt::format(" to {}", (*most)->samples);
  }
  return note + ".";
}

std::string token_label(const Trace& trace, Index position) {
  const auto p = static_cast<std::size_t>(position);
  if (trace.header.mask_id == trace.tokens[p]) return "[mask]";
  std::string text = trace.token_texts[p];
  replace_all(text, "\n", "↵");
  replace_all(text, "\t", "⇥");
  if (text.size() > 1 && text.front() == ' ') text.erase(0, 1);
  if (text == " ") return "␣";
  return text;
}

std::vector<Band> region_bands(const Trace& trace) {
  std::vector<Band> bands;
  for (const RegionSpan& span : trace.regions.spans()) {
    const Region& region = trace.regions.regions[static_cast<std::size_t>(span.region)];
    if (region.kind == RegionKind::kTemplate) continue;
    const std::string name = region.name();
    bands.push_back({.begin = span.begin,
                     .end = span.end,
                     .name = name,
                     .short_name = region.kind == RegionKind::kDocument ? fmt::format("D{}", region.document)
                                                                        : name.substr(0, 1),
                     .marked = region.gold});
  }
  return bands;
}

std::string behind_csv(const std::vector<FigureSample>& behind) {
  std::string out = "panel,model,sample\n";
  for (const FigureSample& b : behind)
    out += fmt::format("{},{},{}\n", csv_field(b.panel), csv_field(b.model), csv_field(b.sample));
  return out;
}

std::string figure_csv(const Figure& figure) {
  return std::visit([](const auto& f) { return csv_of(f); }, figure);
}

}  // namespace buoy
