// A study's numbers by name, for the figures and tables that show them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "buoy/draw/figure.h"
#include "buoy/run/collect.h"

namespace buoy {

// A sample that went into a panel, or a group of bars; no panel: into all of them.
struct FigureSample {
  std::string panel, model, sample;
};

// A figure of a report with all that goes beside it.
struct StudyFigure {
  std::string name;  // of its files
  Figure figure;
  std::string csv;
  std::string caption, alt;
  std::vector<FigureSample> behind = {};  // empty where its table is of means that samples.csv has one by one
  bool opening = false;                   // stands at the top of the page, not folded away with its analysis
};

// "panel,model,sample", a line for each.
std::string behind_csv(const std::vector<FigureSample>& behind);

// One quantity of the analyses: its name and its part.
struct Quantity {
  std::string_view name, part;
};

// Models that are several trainings of one kind, or one model that is a kind of its own.
struct StudiedKind {
  std::string name;
  std::vector<const StudiedModel*> models;  // at least one
};

// One number of a kind: of several models the mean and, as lo and hi, the lowest and the highest of them; of
// one its mean and interval over questions.
struct KindNumber {
  double mean = 0, lo = 0, hi = 0;
  std::optional<double> null;
};

// Summaries of every model, made once. Views the result, which must outlive it.
class StudyView {
 public:
  explicit StudyView(const StudyResult& result);

  const StudyResult& result() const { return *result_; }
  std::span<const StudiedModel> models() const { return result_->models; }
  std::span<const StudiedKind> kinds() const { return kinds_; }
  // The first model of each kind: those whose own maps and examples are drawn.
  std::vector<std::reference_wrapper<const StudiedModel>> shown() const;

  // Which of the series' colours the model has: the place of its kind in the study.
  Index color_of(const StudiedModel& model) const;
  Index color_of(const std::string& model) const;
  Index color_of(const StudiedKind& kind) const { return color_of(*kind.models.front()); }

  // Nothing where no model of the kind has the number.
  std::optional<KindNumber> find(const StudiedKind& kind, const ColumnKey& key) const;
  std::optional<KindNumber> find_by_gold(const StudiedKind& kind, const std::string& gold,
                                         const ColumnKey& key) const;

  // nullptr where the model has no such number.
  const Summary* find(const StudiedModel& model, const ColumnKey& key) const;
  // Of the means over layers.
  const Summary* find_mean(const StudiedModel& model, Quantity quantity) const;
  // The mean of the same under attention that looks near and nothing else; nothing where that was not
  // collected.
  std::optional<double> recency_of(const StudiedModel& model, const ColumnKey& key) const;
  std::optional<double> recency_mean_of(const StudiedModel& model, Quantity quantity) const;
  bool has_recency() const { return recency() != nullptr; }
  // Of the samples whose gold documents stand at `gold` ("gold at 3").
  const Summary* find_by_gold(const StudiedModel& model, const std::string& gold, const ColumnKey& key) const;
  std::vector<std::string> gold_labels() const;  // one gold document first, in order of its number

  // The layers of a model for which the quantity is known, ascending.
  std::vector<Index> layers(const StudiedModel& model, Quantity quantity) const;

  // A line per kind over layers, with interval and null. Kinds without the quantity are left out.
  CurvePanel panel(const std::string& title, Quantity quantity) const;
  // What the bands and whiskers of kinds are: "Bands: 95 % bootstrap intervals over questions."
  std::string interval_note(const char* what) const;

  // A map of layers × heads of the mean over samples.
  HeatmapPanel head_map(const StudiedModel& model, const std::string& title, Quantity quantity) const;

  // The lines of summaries.csv for these quantities.
  std::string csv(std::span<const Quantity> quantities) const;
  std::string whole_csv() const;

  // "mini-mdm: n = 20 · mini-arm: n = 20." Of a kind with several models "mdm: 3 models, n = 20".
  std::string sample_note() const;

 private:
  using Index1 = std::map<ColumnKey, Summary>;
  static Index1 index(const std::vector<Summary>& summaries);
  const CollectedNull* recency() const;

  const StudyResult* result_;
  std::vector<StudiedKind> kinds_;
  std::map<std::string, Index1> all_, means_;                      // by model
  std::map<std::pair<std::string, std::string>, Index1> by_gold_;  // by model and label
};

// A position as a label: white space made visible, masks short.
std::string token_label(const Trace& trace, Index position);

// The spans of the regions that have a name worth showing (not the template's), for axes.
std::vector<Band> region_bands(const Trace& trace);

// The data of a figure as CSV.
std::string figure_csv(const Figure& figure);

}  // namespace buoy
