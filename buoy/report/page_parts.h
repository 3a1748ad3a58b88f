// What the pages share: which figures are drawn, where they go, which colour a model has.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/report/html.h"
#include "buoy/report/study_view.h"

namespace buoy {

// Which figures a report draws, as what, and whose colours they have.
struct FigureOptions {
  std::vector<std::string> only = {};  // figure_topics(); empty: all. Tables are always there
  std::vector<FigureFormat> formats = {kFigureFormats.begin(), kFigureFormats.end()};  // of the files
  // Models in the order of their colours; empty: those of the result, in order of appearance.
  std::vector<std::string> models = {};
  // Models that share the colour of their kind, which is called by that name too; one that is not here is a
  // kind of its own.
  std::map<std::string, std::string> kinds = {};
  // Whose runs the explorer can open beside the report: those that a study traced.
  std::vector<FigureSample> traced = {};
};

// What FigureOptions::only may name: the analyses, then "claims", "answers", "stress" and "interventions".
std::vector<std::string_view> figure_topics();

// Said on a page, and worth saying on a terminal, where fonts_present() says no.
inline constexpr std::string_view kNoFonts =
    "No font is installed, so figures are left out; tables and CSV files hold every number "
    "(fonts-noto-core or fonts-dejavu-core would do).";

// Told the name of every figure before it is drawn and how many there are.
using FigureProgress = std::function<void(const std::string& name, Index total)>;

// Draws the figures of one report. Without fonts it writes their CSV files only.
class FigureWriter {
 public:
  // Makes `directory` and its figures/. `models` stands in where the options name none. Throws Error naming
  // what cannot be made, and UsageError on a topic that there is none of.
  FigureWriter(std::filesystem::path directory, FigureOptions options, std::vector<std::string> models);

  // Whether figures of the topic are drawn.
  bool wants(std::string_view topic) const;
  // Saves it as figures/NAME.* and adds it to the section, where its topic is wanted. Throws Error.
  void add(Section& section, std::string_view topic, const StudyFigure& figure) const;
  // Which of the series' colours the model, or the kind, has.
  Index color_of(const std::string& model) const;
  // What lies behind a figure that is made of every traced sample, or of those that the table has too.
  const std::vector<FigureSample>& traced() const { return options_.traced; }
  std::vector<FigureSample> traced(const SampleTable& samples) const;
  // kNoFonts where it applies.
  std::vector<std::string> notes() const;
  // The models with their colours, for the head of a page.
  std::vector<ModelKey> key() const;

 private:
  std::filesystem::path directory_;
  FigureOptions options_;
  bool fonts_ = true;
};

// Each once, in order of appearance.
template <typename Rows, typename Name>
std::vector<std::string> names_in(const Rows& rows, Name name) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    const std::string one = std::invoke(name, row);
    if (std::find(names.begin(), names.end(), one) == names.end()) names.push_back(one);
  }
  return names;
}

// How to repeat a run of questions; `numbers` says where they all are.
Section repeat_section(const std::string& numbers, const std::string& command);

TableColumn number_column(std::string name, std::string definition = "");

}  // namespace buoy
