// Draws a figure from its data and saves it as PDF, SVG and PNG with its numbers beside it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>

#include "buoy/draw/bars.h"
#include "buoy/draw/curves.h"
#include "buoy/draw/forest.h"
#include "buoy/draw/heatmap.h"

namespace buoy {

using Figure = std::variant<Heatmap, Curves, Bars, Forest>;

enum class FigureFormat { kPdf, kSvg, kPng };  // kPng: 300 pixels per inch of paper

// The file's bytes. The same figure gives the same bytes. Throws Error where the data does not fit together
// (sizes, more than six series, bands out of order) and where no font is installed. May run on any thread.
std::string render_figure(const Figure& figure, FigureFormat format);

// Writes stem.pdf, stem.svg, stem.png and stem.csv and returns the SVG, which a page can carry inline
// (html.h). All four are drawn before the first is put in place. Throws Error naming the path.
std::string save_figure(const Figure& figure, const std::filesystem::path& stem, std::string_view csv);

}  // namespace buoy
