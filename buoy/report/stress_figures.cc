#include "buoy/report/stress_figures.h"

#include <algorithm>
#include <cmath>

#include "buoy/base/error.h"
#include "buoy/report/number_text.h"

namespace buoy {
namespace {

const Summary& em_of(const StressPoint& point) {
  return point.scores[0];
}

std::vector<std::string> data_of(const CurveList& curves) {
  std::vector<std::string> names;
  for (const StressCurve* c : curves) {
    if (std::ranges::find(names, c->data) == names.end()) names.push_back(c->data);
  }
  return names;
}

// The stressors of these curves in order, each once.
std::vector<const Stressor*> stressors_of(const CurveList& curves) {
  std::vector<const Stressor*> out;
  for (const StressCurve* c : curves) {
    if (std::ranges::find(out, c->stressor) == out.end()) out.push_back(c->stressor);
  }
  return out;
}

std::vector<std::string> models_of(const CurveList& curves) {
  std::vector<std::string> names;
  for (const StressCurve* c : curves) {
    if (std::ranges::find(names, c->model) == names.end() && names.size() < kMostStressModels)
      names.push_back(c->model);
  }
  return names;
}

const StressCurve* find(const CurveList& curves, const Stressor* stressor, const std::string& model) {
  const auto found = std::ranges::find_if(
      curves, [&](const StressCurve* c) { return c->stressor == stressor && c->model == model; });
  return found == curves.end() ? nullptr : *found;
}

// "n = 40 items" or "n = 38 to 40 items".
std::string item_note(const CurveList& curves) {
  Index least = 0, most = 0;
  for (const StressCurve* c : curves) {
    for (const StressPoint& p : c->points) {
      least = most == 0 ? em_of(p).n : std::min(least, em_of(p).n);
      most = std::max(most, em_of(p).n);
    }
  }
  return least == most ? fmt::format("n = {} items", most) : fmt::format("n = {} to {} items", least, most);
}

Series series_of(const StressCurve& curve, const FigureWriter& colors) {
  Series s{.name = curve.model,
           .x = {},
           .y = {},
           .markers = Markers::kDots,
           .color = colors.color_of(curve.model)};
  for (const StressPoint& p : curve.points) {
    s.x.push_back(p.level.stress().value_or(0));
    s.y.push_back(em_of(p).mean);
    s.low.push_back(em_of(p).lo.value_or(em_of(p).mean));
    s.high.push_back(em_of(p).hi.value_or(em_of(p).mean));
  }
  if (curve.baseline >= 0 && s.x.size() > 1)
    s.null.assign(s.x.size(), em_of(curve.points[static_cast<std::size_t>(curve.baseline)]).mean);
  return s;
}

CurvePanel panel_of(const CurveList& curves, const Stressor* stressor, const FigureWriter& colors) {
  CurvePanel panel{.title = std::string(stressor->title), .series = {}};
  panel.x_title = stressor->axis;
  for (const std::string& model : models_of(curves)) {
    const StressCurve* curve = find(curves, stressor, model);
    if (curve == nullptr) continue;
    panel.series.push_back(series_of(*curve, colors));
    for (const StressPoint& p : curve->points) {
      const double at = p.level.stress().value_or(0);
      if (std::ranges::find(panel.x_ticks, at, &AxisTick::at) == panel.x_ticks.end())
        panel.x_ticks.push_back({.at = at, .label = p.level.text});
    }
  }
  std::ranges::sort(panel.x_ticks, {}, &AxisTick::at);
  return panel;
}

StudyFigure finish(std::string name, Figure figure, std::string caption, std::string alt) {
  std::string csv = figure_csv(figure);
  return {.name = std::move(name),
          .figure = std::move(figure),
          .csv = std::move(csv),
          .caption = std::move(caption),
          .alt = std::move(alt)};
}

// Room around what is shown, never beyond what a percentage can be, and at least a fifth of it: curves that
// hardly move look so.
Range percent_range(const std::vector<CurvePanel>& panels) {
  double low = 100, high = 0;
  for (const CurvePanel& panel : panels) {
    for (const Series& series : panel.series) {
      for (std::size_t i = 0; i < series.y.size(); ++i) {
        low = std::min(low, series.low.empty() ? series.y[i] : series.low[i]);
        high = std::max(high, series.high.empty() ? series.y[i] : series.high[i]);
      }
    }
  }
  high = std::min(102.0, high + 5);
  return {.low = std::max(0.0, std::min(low - 5, high - 22)), .high = high};
}

// Where figures are added, and in whose colours.
struct Adding {
  std::vector<StudyFigure>& figures;
  const FigureWriter& colors;
};

void add_curves(const Adding& to, const CurveList& curves, const std::string& name,
                const std::string& where) {
  Curves figure{.note = fmt::format("{}. Bands: 95 % bootstrap intervals over questions.", item_note(curves)),
                .y_title = "exact match, %",
                .null_name = "first level",
                .legend = LegendPlace::kAbove};
  for (const Stressor* stressor : stressors_of(curves)) {
    if (!stressor->categorical()) figure.panels.push_back(panel_of(curves, stressor, to.colors));
  }
  if (figure.panels.empty()) return;
  figure.y_range = percent_range(figure.panels);
  constexpr Index kMostAcross = 3;
  figure.panels_across = std::min<Index>(kMostAcross, std::ssize(figure.panels));
  figure.width = figure.panels.size() > 1 ? kTextWidth : kColumnWidth;
  to.figures.push_back(
      finish(name, std::move(figure),
             fmt::format("Exact match by level{}. Dashed: the same model at the first level.", where),
             "Curves of exact match over levels of stress, model beside model."));
}

Bar bar_of(const Summary& s) {
  return {.value = s.mean, .low = s.lo.value_or(s.mean), .high = s.hi.value_or(s.mean)};
}

const StressPoint* point_at(const StressCurve* curve, const std::string& level) {
  if (curve == nullptr) return nullptr;
  for (const StressPoint& p : curve->points) {
    if (p.level.text == level) return &p;
  }
  return nullptr;
}

enum class Shown { kEm, kStale };

// Bars by level, one series per model; no groups where no point has the number.
Bars bars_of(const CurveList& curves, const Stressor* stressor, Shown shown, const FigureWriter& colors) {
  Bars bars{.note = fmt::format("{}. Whiskers: 95 % bootstrap intervals over questions.", item_note(curves)),
            .y_title = shown == Shown::kEm ? "exact match, %" : "stale answers, %",
            .labels = ValueLabels::kShown};
  const auto number = [&](const StressPoint* p) {
    if (p == nullptr) return std::optional<Summary>();
    return shown == Shown::kEm ? std::optional(em_of(*p)) : p->stale;
  };
  for (const StressCurve* curve : curves) {
    if (curve->stressor != stressor) continue;
    for (const StressPoint& p : curve->points) {
      if (number(&p) && std::ranges::find(bars.groups, p.level.text) == bars.groups.end())
        bars.groups.push_back(p.level.text);
    }
  }
  for (const std::string& model : models_of(curves)) {
    BarSeries series{.name = model, .bars = {}, .color = colors.color_of(model)};
    for (const std::string& level : bars.groups) {
      const auto found = number(point_at(find(curves, stressor, model), level));
      series.bars.push_back(found ? bar_of(*found) : Bar{});
    }
    bars.series.push_back(std::move(series));
  }
  return bars;
}

void add_bars(const Adding& to, const CurveList& curves, const std::string& suffix,
              const std::string& where) {
  for (const Stressor* stressor : stressors_of(curves)) {
    if (!stressor->categorical()) continue;
    Bars em = bars_of(curves, stressor, Shown::kEm, to.colors);
    Bars stale = bars_of(curves, stressor, Shown::kStale, to.colors);
    const std::string name = fmt::format("stress_{}{}", stressor->name, suffix);
    to.figures.push_back(finish(name, std::move(em),
                                fmt::format("{}{}. {}", stressor->title, where, stressor->explanation),
                                fmt::format("Bars of exact match by {}.", stressor->axis)));
    if (stale.groups.empty()) continue;
    to.figures.push_back(
        finish(name + "_stale", std::move(stale),
               fmt::format("Answers that were right before the collection changed and are no longer in it{}.",
                           where),
               "Bars of the share of stale answers."));
  }
}

std::string capitalised(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

}  // namespace

std::vector<StudyFigure> worst_loss_figure(const StressResult& result, const FigureWriter& colors) {
  Forest forest{.note =
                    "The level with the lowest exact match against the first level, paired by item. "
                    "Whiskers: 95 % bootstrap intervals over questions.",
                .x_title = "points of exact match lost",
                .text_title = "lost at",
                .key = {{ForestMark::kCross, "interval above 0"}, {ForestMark::kRing, "interval holds 0"}}};
  CurveList all;
  for (const StressCurve& c : result.curves) all.push_back(&c);
  const bool several = data_of(all).size() > 1;
  for (const StressCurve& c : result.curves) {
    if (c.worst < 0 || !c.points[static_cast<std::size_t>(c.worst)].losses) continue;
    const StressPoint& worst = c.points[static_cast<std::size_t>(c.worst)];
    const Summary& loss = (*worst.losses)[0];
    ForestRow row;
    row.group = capitalised(name_of(c.stressor->group));
    row.name = c.stressor->title;
    row.detail = several ? fmt::format("{}, {}", c.model, c.data) : c.model;
    row.value = loss.mean;
    row.low = std::min(loss.mean, loss.lo.value_or(loss.mean));
    row.high = std::max(loss.mean, loss.hi.value_or(loss.mean));
    row.color = colors.color_of(c.model);
    row.mark = row.low > 0 ? ForestMark::kCross : ForestMark::kRing;
    row.text = fmt::format("{}: {}\nn = {}", worst.level.text, change_text(loss, Digits::kPercent), loss.n);
    forest.rows.push_back(std::move(row));
  }
  if (forest.rows.empty()) return {};
  return {finish("stress", std::move(forest),
                 "What every model loses under each stressor at its worst level, item by item. The worst of "
                 "several levels is picked after the fact, so some loss is expected by luck alone.",
                 "Forest plot of the loss of exact match at the worst level of each stressor.")};
}

std::vector<StudyFigure> stress_figures(const CurveList& curves, const std::string& group,
                                        const FigureWriter& colors) {
  std::vector<StudyFigure> figures;
  const std::vector<std::string> data = data_of(curves);
  for (const std::string& name : data) {
    CurveList here;
    for (const StressCurve* c : curves) {
      if (c->data == name) here.push_back(c);
    }
    const std::string where = data.size() > 1 ? fmt::format(", {}", name) : "";
    const std::string suffix = data.size() > 1 ? "_" + name : "";
    const Adding to{figures, colors};
    add_curves(to, here, fmt::format("stress_{}_curves{}", group, suffix), where);
    add_bars(to, here, suffix, where);
  }
  return figures;
}

}  // namespace buoy
