#include "buoy/report/page_parts.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/draw/canvas.h"
#include "buoy/io/file.h"
#include "buoy/io/file_name.h"

namespace buoy {

namespace fs = std::filesystem;

std::vector<std::string_view> figure_topics() {
  std::vector<std::string_view> topics;
  for (const Analysis& analysis : analyses()) topics.push_back(analysis.name);
  for (const std::string_view more : {"claims", "answers", "stress", "interventions"}) topics.push_back(more);
  return topics;
}

FigureWriter::FigureWriter(fs::path directory, FigureOptions options, std::vector<std::string> models)
    : directory_(std::move(directory)), options_(std::move(options)), fonts_(fonts_present()) {
  const std::vector<std::string_view> topics = figure_topics();
  for (const std::string& topic : options_.only) {
    if (std::ranges::find(topics, topic) == topics.end())
      fail_usage("figures of \"{}\", expected some of {}", topic, fmt::join(topics, ", "));
  }
  if (options_.models.empty()) options_.models = std::move(models);
  std::error_code error;
  fs::create_directories(directory_ / "figures", error);
  if (error) fail("{}: cannot be made a directory: {}", (directory_ / "figures").string(), error.message());
}

bool FigureWriter::wants(std::string_view topic) const {
  return options_.only.empty() || std::ranges::find(options_.only, topic) != options_.only.end();
}

void FigureWriter::add(Section& section, std::string_view topic, const StudyFigure& figure) const {
  if (!wants(topic)) return;
  const std::string files = "figures/" + file_name_of(figure.name);
  if (!figure.behind.empty())
    write_file_atomically(directory_ / "figures" / ("behind_" + file_name_of(figure.name) + ".csv"),
                          behind_csv(figure.behind));
  if (!fonts_) return write_file_atomically(directory_ / (files + ".csv"), figure.csv);
  FigureBlock block{.svg = save_figure(figure.figure, directory_ / files, figure.csv, options_.formats),
                    .alt = figure.alt,
                    .caption = figure.caption,
                    .files = files,
                    .extensions = {}};
  for (const FigureFormat format : kFigureFormats) {
    if (std::ranges::find(options_.formats, format) != options_.formats.end())
      block.extensions.emplace_back(name_of(format));
  }
  block.extensions.emplace_back("csv");
  section.blocks.push_back(std::move(block));
}

Index FigureWriter::color_of(const std::string& model) const {
  const auto kind_of = [&](const std::string& name) {
    const auto found = options_.kinds.find(name);
    return found == options_.kinds.end() ? name : found->second;
  };
  const std::vector<std::string> kinds = names_in(options_.models, kind_of);
  const Index place = std::ranges::find(kinds, kind_of(model)) - kinds.begin();
  return place % kSeriesColorCount;
}

std::vector<FigureSample> FigureWriter::traced(const SampleTable& samples) const {
  std::set<std::pair<std::string, std::string>> there;
  for (const SampleKey& key : samples.samples()) there.emplace(key.model, key.sample);
  std::vector<FigureSample> some;
  for (const FigureSample& s : traced()) {
    if (there.contains({s.model, s.sample})) some.push_back(s);
  }
  return some;
}

std::vector<std::string> FigureWriter::notes() const {
  if (fonts_) return {};
  return {std::string(kNoFonts)};
}

std::vector<ModelKey> FigureWriter::key() const {
  std::vector<ModelKey> key;
  for (const std::string& model : options_.models)
    key.push_back({.name = model, .detail = "", .color = color_of(model)});
  return key;
}

Section repeat_section(const std::string& numbers, const std::string& command) {
  return {.id = "repeat",
          .title = "Repeat it",
          .explanation =
              "The same command gives the same answers, whatever the number of threads or the batch; given "
              "the same folder it goes on where it was broken off. " +
              numbers,
          .blocks = {CodeBlock{command}}};
}

TableColumn number_column(std::string name, std::string definition) {
  return {.name = std::move(name), .kind = ColumnKind::kNumber, .definition = std::move(definition)};
}

}  // namespace buoy
