#include "buoy/report/page_parts.h"

#include "buoy/base/error.h"

namespace buoy {

namespace fs = std::filesystem;

void make_figure_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory / "figures", error);
  if (error) fail("{}: cannot be made a directory: {}", (directory / "figures").string(), error.message());
}

FigureBlock save_figure_block(const StudyFigure& figure, const fs::path& directory) {
  const std::string files = "figures/" + figure.name;
  return {.svg = save_figure(figure.figure, directory / files, figure.csv),
          .alt = figure.alt,
          .caption = figure.caption,
          .files = files};
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
