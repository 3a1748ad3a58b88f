#include "apps/cli/figure_flags.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "apps/cli/environment.h"
#include "apps/cli/progress.h"
#include "buoy/base/error.h"
#include "buoy/draw/canvas.h"
#include "buoy/engine/tracing_model.h"
#include "buoy/io/file.h"
#include "buoy/serve/standalone_page.h"

namespace buoy {

std::vector<std::string> analysis_names() {
  std::vector<std::string> names;
  for (const Analysis& analysis : analyses()) names.emplace_back(analysis.name);
  return names;
}

void FigureFlags::add_to(Verb& verb, std::vector<std::string> topics) {
  verb.option("--figures", &figures, "Figures of these only; tables are always there")
      .split_at(',')
      .choices(std::move(topics))
      .group("Figures");
  verb.option("--format", &formats, "Files of every figure, beside its CSV")
      .split_at(',')
      .choices({"pdf", "svg", "png"})
      .group("Figures");
}

FigureOptions FigureFlags::options(const std::vector<const Analysis*>& done) const {
  FigureOptions made{.only = figures, .formats = {}};
  const std::vector<std::string> known = analysis_names();
  for (const std::string& name : figures) {
    const bool is_analysis = std::ranges::find(known, name) != known.end();
    const auto same = [&](const Analysis* analysis) { return analysis->name == name; };
    if (is_analysis && std::ranges::none_of(done, same)) {
      fail_usage("--figures {} has no effect: --only leaves that analysis out", name);
    }
  }
  for (const std::string& format : formats) made.formats.push_back(*parse_figure_format(format));
  return made;
}

namespace {

// A page of the explorer for each example of each model, unless it would be too large to open.
std::vector<LinksBlock::Link> write_explored(const StudyResult& result,
                                             const std::filesystem::path& directory) {
  std::vector<LinksBlock::Link> links;
  for (const StudiedModel& model : result.models) {
    for (const Trace& trace : model.examples) {
      if (!fits_a_page(trace)) continue;
      const std::string name =
          std::filesystem::path(trace_file_name(model.name, trace.header.sample)).stem().string();
      const std::string file = "explore/" + name + ".html";
      ExplorerSettings settings;
      settings.recorded.emplace_back(name, trace);
      std::filesystem::create_directories(directory / "explore");
      write_file_atomically(directory / file, standalone_page(settings));
      links.push_back({fmt::format("{}: sample {}", model.name, trace.header.sample), file});
    }
  }
  return links;
}

}  // namespace

void write_and_tell(const StudyResult& result, StudyReport report, const std::filesystem::path& directory,
                    const FigureOptions& figures) {
  report.explored = write_explored(result, directory);
  std::optional<ProgressBar> drawing;
  StudyOptions options{.figures = figures};
  options.progress = [&](const std::string&, Index total) {
    stop_if_interrupted();
    if (!drawing) drawing.emplace("drawing", total);
    drawing->advance();
  };
  if (!fonts_present()) print_warning(std::string(kNoFonts));
  write_study(result, report, directory, options);
  drawing.reset();
  std::printf("%s\n", (directory / "report.html").c_str());
}

}  // namespace buoy
