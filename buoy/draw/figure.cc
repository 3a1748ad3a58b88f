#include "buoy/draw/figure.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/draw/draw.h"
#include "buoy/io/file.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr Medium medium_of(FigureFormat format) {
  return format == FigureFormat::kPdf   ? Medium::kPdf
         : format == FigureFormat::kSvg ? Medium::kSvg
                                        : Medium::kPng;
}

// Browsers would smooth the cells of a heatmap.
constexpr std::string_view kSharpImages = "<style>image{image-rendering:pixelated}</style>\n";

// Cairo names parts of an SVG after a counter of the process ("surface17"), so that no two drawings are
// alike. Gives them numbers in order of appearance. Only what stands in the place of a name is touched.
std::string with_steady_names(std::string_view svg) {
  std::string out;
  out.reserve(svg.size());
  std::map<std::string, std::string, std::less<>> names;
  while (!svg.empty()) {
    const std::size_t sign = svg.find_first_of("\"#");
    const std::size_t begin = sign == std::string_view::npos ? svg.size() : sign + 1;
    out += svg.substr(0, begin);
    svg.remove_prefix(begin);
    if (!out.ends_with(" id=\"") && !out.ends_with("url(#") && !out.ends_with("href=\"#")) continue;
    const std::size_t end = std::min(svg.find_first_of("\")"), svg.size());
    const std::string_view name = svg.substr(0, end);
    auto known = names.find(name);
    if (known == names.end()) known = names.emplace(name, fmt::format("n{}", names.size())).first;
    out += known->second;
    svg.remove_prefix(end);
  }
  return out;
}

std::string_view name_at(std::string_view svg, std::size_t begin) {
  return svg.substr(begin, svg.find('"', begin) - begin);
}

// Where the element that shows the image whose tag stands at `image` has room for an attribute. Cairo 1.18
// puts an image there by its name; 1.16 fills an area with a pattern that holds it.
std::size_t element_of_image(std::string_view svg, std::size_t image) {
  constexpr std::string_view kImage = "<image id=\"", kPattern = "<pattern id=\"", kPath = "<path ",
                             kUse = "<use ";
  const std::string placed =
      fmt::format("{}xlink:href=\"#{}\" transform=", kUse, name_at(svg, image + kImage.size()));
  if (const std::size_t use = svg.find(placed); use != svg.npos) return use + kUse.size();
  const std::size_t pattern = svg.find(kPattern, image);
  if (pattern == svg.npos) return svg.npos;
  const std::string fill = fmt::format("fill:url(#{})", name_at(svg, pattern + kPattern.size()));
  const std::size_t area = svg.rfind(kPath, svg.find(fill));
  return area == svg.npos ? svg.npos : area + kPath.size();
}

// Names the areas that a dark page turns light for dark. Cairo writes images in the order they were drawn.
std::string with_turned_areas(std::string svg, const std::vector<CellsInTheDark>& cells) {
  std::size_t at = 0;
  for (const CellsInTheDark dark : cells) {
    at = svg.find("<image id=\"", at);
    if (at == std::string::npos) break;
    if (dark == CellsInTheDark::kTurned) {
      const std::size_t element = element_of_image(svg, at);
      if (element != std::string::npos) svg.insert(element, "class=\"turned\" ");
    }
    ++at;
  }
  return svg;
}

void write_bytes(const AtomicFile& file, const fs::path& path, std::string_view bytes) {
  std::ofstream out(file.temporary(), std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) fail("{}: cannot write", path.string());
}

}  // namespace

std::string_view name_of(FigureFormat format) {
  constexpr std::array<std::string_view, kFigureFormats.size()> kNames = {"pdf", "svg", "png"};
  return kNames[static_cast<std::size_t>(format)];
}

std::optional<FigureFormat> parse_figure_format(std::string_view name) {
  for (const FigureFormat format : kFigureFormats) {
    if (name_of(format) == name) return format;
  }
  return std::nullopt;
}

std::string render_figure(const Figure& figure, FigureFormat format) {
  const auto draw_on = [&](Canvas& canvas) {
    return std::visit([&](const auto& kind) { return draw(canvas, kind); }, figure);
  };
  Canvas ruler(Medium::kNone, {});
  Canvas canvas(medium_of(format), draw_on(ruler));
  draw_on(canvas);
  std::string bytes = canvas.finish();
  if (format != FigureFormat::kSvg) return bytes;
  bytes = with_turned_areas(with_steady_names(bytes), canvas.cells_in_the_dark());
  bytes.insert(bytes.find(">\n", bytes.find("<svg")) + 2, kSharpImages);
  return bytes;
}

std::string save_figure(const Figure& figure, const fs::path& stem, std::string_view csv,
                        std::span<const FigureFormat> formats) {
  struct Part {
    std::string extension, bytes;
  };
  std::vector<Part> parts;
  std::string svg = render_figure(figure, FigureFormat::kSvg);
  for (const FigureFormat format : kFigureFormats) {
    if (std::ranges::find(formats, format) == formats.end()) continue;
    parts.push_back(
        {std::string(name_of(format)), format == FigureFormat::kSvg ? svg : render_figure(figure, format)});
  }
  parts.push_back({"csv", std::string(csv)});
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (const Part& part : parts) {
    const fs::path path = fmt::format("{}.{}", stem.string(), part.extension);
    files.push_back(std::make_unique<AtomicFile>(path));
    write_bytes(*files.back(), path, part.bytes);
  }
  for (const auto& file : files) file->commit();
  return svg;
}

}  // namespace buoy
