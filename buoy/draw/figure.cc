#include "buoy/draw/figure.h"

#include <array>
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

void write_bytes(const AtomicFile& file, const fs::path& path, std::string_view bytes) {
  std::ofstream out(file.temporary(), std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) fail("{}: cannot write", path.string());
}

}  // namespace

std::string render_figure(const Figure& figure, FigureFormat format) {
  const auto draw_on = [&](Canvas& canvas) {
    return std::visit([&](const auto& kind) { return draw(canvas, kind); }, figure);
  };
  Canvas ruler(Medium::kNone, {});
  Canvas canvas(medium_of(format), draw_on(ruler));
  draw_on(canvas);
  std::string bytes = canvas.finish();
  if (format != FigureFormat::kSvg) return bytes;
  bytes = with_steady_names(bytes);
  bytes.insert(bytes.find(">\n", bytes.find("<svg")) + 2, kSharpImages);
  return bytes;
}

std::string save_figure(const Figure& figure, const fs::path& stem, std::string_view csv) {
  std::string svg = render_figure(figure, FigureFormat::kSvg);
  const std::string pdf = render_figure(figure, FigureFormat::kPdf);
  const std::string png = render_figure(figure, FigureFormat::kPng);
  struct Part {
    const char* extension;
    std::string_view bytes;
  };
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (const Part& part : std::array<Part, 4>{{{".pdf", pdf}, {".svg", svg}, {".png", png}, {".csv", csv}}}) {
    const fs::path path = stem.string() + part.extension;
    files.push_back(std::make_unique<AtomicFile>(path));
    write_bytes(*files.back(), path, part.bytes);
  }
  for (const auto& file : files) file->commit();
  return svg;
}

}  // namespace buoy
