// Draws a figure from its data and saves it as PDF, SVG and PNG with its numbers beside it.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
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
inline constexpr std::array kFigureFormats = {FigureFormat::kPdf, FigureFormat::kSvg, FigureFormat::kPng};

// "pdf", "svg", "png": as files end.
std::string_view name_of(FigureFormat format);
std::optional<FigureFormat> parse_figure_format(std::string_view name);

// The file's bytes. The same figure gives the same bytes. Throws Error where the data does not fit together
// (sizes, more than six series, bands out of order) and where no font is installed (fonts_present() in
// canvas.h tells beforehand). May run on any thread.
std::string render_figure(const Figure& figure, FigureFormat format);

// Writes stem.csv and, for each of the formats, stem.pdf, stem.svg and stem.png; returns the SVG, asked for
// or not, which a page can carry (inline_svg.h). All are drawn before the first is put in place. Throws Error
// naming the path.
std::string save_figure(const Figure& figure, const std::filesystem::path& stem, std::string_view csv,
                        std::span<const FigureFormat> formats = kFigureFormats);

}  // namespace buoy
