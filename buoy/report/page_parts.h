// What the pages share: where figures go, and tables of numbers.
#pragma once

#include <filesystem>
#include <string>

#include "buoy/report/html.h"
#include "buoy/report/study_view.h"

namespace buoy {

// Makes `directory` and its figures/. Throws Error naming what cannot be made.
void make_figure_directory(const std::filesystem::path& directory);

// Saves the figure as directory/figures/NAME.{pdf,svg,png,csv}, which is made already. Throws Error.
FigureBlock save_figure_block(const StudyFigure& figure, const std::filesystem::path& directory);

// How to repeat a run of questions; `numbers` says where they all are.
Section repeat_section(const std::string& numbers, const std::string& command);

TableColumn number_column(std::string name, std::string definition = "");

}  // namespace buoy
