#include "buoy/draw/canvas.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <pango/pangocairo.h>

#include "buoy/base/error.h"
#include "buoy/base/headroom.h"
#include "buoy/draw/png.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// The first is the face; the others lend the scripts it lacks. Pango asks fontconfig for what none of them
// has.
constexpr const char* kFamilies =
    "Noto Sans, Noto Sans Arabic, Noto Sans Hebrew, Noto Sans Devanagari, Droid Sans Fallback, Symbola, "
    "DejaVu Sans";
constexpr double kPngScale = 300.0 / 72;
// Every line of text has kLineHeight and this baseline whatever font it falls back to, so that labels in
// different scripts stand on one line.
constexpr double kBaseline = 0.95;
constexpr double kHatchStep = 2.2;

template <auto kFree>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Surface = std::unique_ptr<cairo_surface_t, Deleter<cairo_surface_destroy>>;
using Context = std::unique_ptr<cairo_t, Deleter<cairo_destroy>>;
using PatternPtr = std::unique_ptr<cairo_pattern_t, Deleter<cairo_pattern_destroy>>;
using FontMap = std::unique_ptr<PangoFontMap, Deleter<g_object_unref>>;
using TextContext = std::unique_ptr<PangoContext, Deleter<g_object_unref>>;
using PangoText = std::unique_ptr<PangoLayout, Deleter<g_object_unref>>;
using FontDescription = std::unique_ptr<PangoFontDescription, Deleter<pango_font_description_free>>;
using Attributes = std::unique_ptr<PangoAttrList, Deleter<pango_attr_list_unref>>;
using FontOptions = std::unique_ptr<cairo_font_options_t, Deleter<cairo_font_options_destroy>>;

cairo_status_t append_bytes(void* closure, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

// Of an image surface.
std::string png_of(cairo_surface_t* surface) {
  const Index rows = cairo_image_surface_get_height(surface);
  const Index columns = cairo_image_surface_get_width(surface);
  const Index stride = cairo_image_surface_get_stride(surface) / Index{sizeof(std::uint32_t)};
  const auto* data = reinterpret_cast<const std::uint32_t*>(cairo_image_surface_get_data(surface));
  check(data != nullptr, "png: cairo has no image");
  return encode_png({data, static_cast<std::size_t>(rows * stride)}, rows, columns, stride);
}

Surface make_surface(Medium medium, Size size, std::string& bytes) {
  switch (medium) {
    case Medium::kNone:
      return Surface(cairo_recording_surface_create(CAIRO_CONTENT_COLOR, nullptr));
    case Medium::kPdf: {
      Surface surface(cairo_pdf_surface_create_for_stream(append_bytes, &bytes, size.width, size.height));
      // Otherwise the time of day would stand in the file.
      cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
      return surface;
    }
    case Medium::kSvg:
      return Surface(cairo_svg_surface_create_for_stream(append_bytes, &bytes, size.width, size.height));
    case Medium::kPng: {
      Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                                 static_cast<int>(std::ceil(size.width * kPngScale)),
                                                 static_cast<int>(std::ceil(size.height * kPngScale))));
      cairo_surface_set_device_scale(surface.get(), kPngScale, kPngScale);
      return surface;
    }
  }
  return nullptr;
}

// Unhinted, so that a drawing has the same measures in every medium.
TextContext make_text_context(PangoFontMap* fonts) {
  TextContext context(pango_font_map_create_context(fonts));
  const FontOptions options(cairo_font_options_create());
  cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);
  pango_cairo_context_set_font_options(context.get(), options.get());
  pango_context_set_round_glyph_positions(context.get(), FALSE);
  return context;
}

// Without a font Pango draws nothing, or aborts. Its list always holds the generic names, fonts or not.
bool has_fonts(PangoFontMap* fonts) {
  PangoFontFamily** families = nullptr;
  int count = 0;
  pango_font_map_list_families(fonts, &families, &count);
  const bool found = std::any_of(families, families + count, [](PangoFontFamily* family) {
    const std::string_view name = pango_font_family_get_name(family);
    return name != "Sans" && name != "Serif" && name != "Monospace" && name != "System-ui";
  });
  g_free(families);
  return found;
}

// White space that is a label by itself (a token often is) becomes a sign, so that it can be seen.
std::string printable(std::string_view text) {
  std::string out = repair_utf8(text).text;
  const bool blank = out.find_first_not_of(" \n\r\t") == std::string::npos;
  std::string signs;
  for (char& c : out) {
    if (blank) signs += c == ' ' ? "␣" : c == '\t' ? "⇥" : "↵";
    if (c != '\n' && static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return blank ? signs : out;
}

struct Placed {
  Size size;  // before it is turned
  double line_height = 0;
};

Placed place(PangoLayout* layout, const TextStyle& style) {
  double width = 0;
  const int lines = pango_layout_get_line_count(layout);
  for (int i = 0; i < lines; ++i) {
    PangoRectangle extents{};
    pango_layout_line_get_extents(pango_layout_get_line_readonly(layout, i), nullptr, &extents);
    width = std::max(width, static_cast<double>(extents.width) / PANGO_SCALE);
  }
  const double line_height = style.size * kLineHeight;
  return {{width, line_height * lines}, line_height};
}

double share_before(AlignX align) {
  return align == AlignX::kLeft ? 0 : align == AlignX::kCentre ? 0.5 : 1;
}
double share_before(AlignY align) {
  return align == AlignY::kTop ? 0 : align == AlignY::kMiddle ? 0.5 : 1;
}

}  // namespace

struct Canvas::State {
  Medium medium;
  std::string bytes;
  FontMap fonts;
  TextContext text_context;
  Surface surface;
  Context cr;
  std::vector<CellsInTheDark> cells;

  PangoText layout(std::string_view text, const TextStyle& style) const {
    PangoText out(pango_layout_new(text_context.get()));
    const FontDescription font(pango_font_description_new());
    pango_font_description_set_family_static(font.get(), kFamilies);
    pango_font_description_set_absolute_size(font.get(), style.size * PANGO_SCALE);
    pango_font_description_set_weight(
        font.get(), style.weight == Weight::kBold ? PANGO_WEIGHT_SEMIBOLD : PANGO_WEIGHT_NORMAL);
    pango_layout_set_font_description(out.get(), font.get());
    const Attributes attributes(pango_attr_list_new());
    pango_attr_list_insert(attributes.get(), pango_attr_font_features_new("tnum=1"));
    pango_layout_set_attributes(out.get(), attributes.get());
    if (style.max_width > 0) {
      pango_layout_set_width(out.get(), static_cast<int>(std::ceil(style.max_width * PANGO_SCALE)));
      pango_layout_set_height(out.get(), -static_cast<int>(style.max_lines));
      pango_layout_set_wrap(out.get(), PANGO_WRAP_WORD_CHAR);
      pango_layout_set_ellipsize(out.get(), PANGO_ELLIPSIZE_END);
    }
    const std::string clean = printable(text);
    pango_layout_set_text(out.get(), clean.data(), static_cast<int>(clean.size()));
    return out;
  }

  void set_line(const LineStyle& style) const {
    cairo_set_source_rgba(cr.get(), style.color.r, style.color.g, style.color.b, style.color.a);
    cairo_set_line_width(cr.get(), style.width);
    cairo_set_dash(cr.get(), style.dashes.data(), static_cast<int>(style.dashes.size()), 0);
  }
  void set_fill(Color c) const { cairo_set_source_rgba(cr.get(), c.r, c.g, c.b, c.a); }
  void trace(std::span<const Point> points) const {
    cairo_new_path(cr.get());
    for (const Point& p : points) cairo_line_to(cr.get(), p.x, p.y);
  }
};

namespace {

// GLib ends the process where memory is short, and Pango waits for ever for a thread that reads its fonts.
void check_room_to_draw() {
  check_memory_left(128, "drawing");
  check_thread_left("drawing");
}

}  // namespace

bool fonts_present() {
  check_room_to_draw();
  const FontMap fonts(pango_cairo_font_map_new());
  return has_fonts(fonts.get());
}

Canvas::Canvas(Medium medium, Size size) : state_(std::make_unique<State>()) {
  check_room_to_draw();
  State& s = *state_;
  s.medium = medium;
  s.fonts.reset(pango_cairo_font_map_new());
  if (!has_fonts(s.fonts.get()))
    fail("figures: no font is installed, expected one (fonts-noto-core, or fonts-dejavu-core)");
  s.text_context = make_text_context(s.fonts.get());
  s.surface = make_surface(medium, size, s.bytes);
  s.cr.reset(cairo_create(s.surface.get()));
  cairo_set_line_join(s.cr.get(), CAIRO_LINE_JOIN_ROUND);
  s.set_fill(kWhite);
  if (medium != Medium::kNone) cairo_paint(s.cr.get());
}

Canvas::~Canvas() = default;

Size Canvas::measure(std::string_view text, const TextStyle& style) const {
  if (text.empty()) return {};
  const Size size = place(state_->layout(text, style).get(), style).size;
  return style.turn == Turn::kUp ? Size{size.height, size.width} : size;
}

void Canvas::text(Point at, std::string_view text, const TextStyle& style) {
  if (text.empty()) return;
  cairo_t* cr = state_->cr.get();
  const PangoText layout = state_->layout(text, style);
  const Placed placed = place(layout.get(), style);
  const bool up = style.turn == Turn::kUp;
  const Size seen = up ? Size{placed.size.height, placed.size.width} : placed.size;
  cairo_save(cr);
  cairo_translate(cr, at.x - seen.width * share_before(style.align_x),
                  at.y - seen.height * share_before(style.align_y) + (up ? seen.height : 0));
  if (up) cairo_rotate(cr, -std::numbers::pi / 2);
  state_->set_fill(style.color);
  // Of a turned text the lower end is its beginning: aligned to the bottom means flush left.
  const double before = up ? 1 - share_before(style.align_y) : share_before(style.align_x);
  for (int i = 0; i < pango_layout_get_line_count(layout.get()); ++i) {
    PangoLayoutLine* line = pango_layout_get_line_readonly(layout.get(), i);
    PangoRectangle extents{};
    pango_layout_line_get_extents(line, nullptr, &extents);
    const double width = static_cast<double>(extents.width) / PANGO_SCALE;
    cairo_move_to(cr, (placed.size.width - width) * before, placed.line_height * i + style.size * kBaseline);
    pango_cairo_show_layout_line(cr, line);
  }
  cairo_restore(cr);
}

void Canvas::line(Point from, Point to, const LineStyle& style) {
  const Point both[] = {from, to};
  polyline(both, style);
}

void Canvas::polyline(std::span<const Point> points, const LineStyle& style) {
  state_->set_line(style);
  state_->trace(points);
  cairo_stroke(state_->cr.get());
}

void Canvas::fill(std::span<const Point> polygon, Color color) {
  state_->set_fill(color);
  state_->trace(polygon);
  cairo_close_path(state_->cr.get());
  cairo_fill(state_->cr.get());
}

void Canvas::fill(const Box& box, Color color) {
  state_->set_fill(color);
  cairo_rectangle(state_->cr.get(), box.x, box.y, box.width, box.height);
  cairo_fill(state_->cr.get());
}

void Canvas::stroke(const Box& box, const LineStyle& style) {
  state_->set_line(style);
  cairo_rectangle(state_->cr.get(), box.x, box.y, box.width, box.height);
  cairo_stroke(state_->cr.get());
}

void Canvas::dot(Point at, double radius, Color color) {
  state_->set_fill(color);
  cairo_new_path(state_->cr.get());
  cairo_arc(state_->cr.get(), at.x, at.y, radius, 0, 2 * std::numbers::pi);
  cairo_fill(state_->cr.get());
}

void Canvas::hatch(std::span<const Box> boxes, Color color) {
  if (boxes.empty()) return;
  cairo_t* cr = state_->cr.get();
  cairo_save(cr);
  double left = boxes[0].x, top = boxes[0].y, right = boxes[0].right(), bottom = boxes[0].bottom();
  cairo_new_path(cr);
  for (const Box& box : boxes) {
    cairo_rectangle(cr, box.x, box.y, box.width, box.height);
    left = std::min(left, box.x);
    top = std::min(top, box.y);
    right = std::max(right, box.right());
    bottom = std::max(bottom, box.bottom());
  }
  cairo_clip(cr);
  state_->set_line({.color = color, .width = 0.55});
  // The lines x + y = c, counted from the page's corner.
  for (double c = std::ceil((left + top) / kHatchStep) * kHatchStep; c < right + bottom; c += kHatchStep) {
    cairo_move_to(cr, c - top, top);
    cairo_line_to(cr, c - bottom, bottom);
  }
  cairo_stroke(cr);
  cairo_restore(cr);
}

void Canvas::cells(const Box& box, Index columns, std::span<const Color> colors, CellsInTheDark dark) {
  check(columns > 0 && std::ssize(colors) % columns == 0, "cells: colours fill whole rows");
  state_->cells.push_back(dark);
  const Index rows = std::ssize(colors) / columns;
  const bool opaque = std::ranges::none_of(colors, [](const Color& c) { return c.a == 0; });
  const Surface image(cairo_image_surface_create(opaque ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32,
                                                 static_cast<int>(columns), static_cast<int>(rows)));
  cairo_surface_flush(image.get());
  unsigned char* data = cairo_image_surface_get_data(image.get());
  const Index stride = cairo_image_surface_get_stride(image.get());
  check(data != nullptr, "cells: cairo has no image");
  const auto byte = [](double channel) { return static_cast<std::uint32_t>(std::lround(channel * 255)); };
  for (Index r = 0; r < rows; ++r) {
    auto* row = reinterpret_cast<std::uint32_t*>(data + r * stride);
    for (Index c = 0; c < columns; ++c) {
      const Color& color = colors[static_cast<std::size_t>(r * columns + c)];
      row[c] = color.a == 0 ? 0 : 0xFF000000U | byte(color.r) << 16 | byte(color.g) << 8 | byte(color.b);
    }
  }
  cairo_surface_mark_dirty(image.get());
  cairo_t* cr = state_->cr.get();
  cairo_save(cr);
  cairo_translate(cr, box.x, box.y);
  cairo_scale(cr, box.width / static_cast<double>(columns), box.height / static_cast<double>(rows));
  const PatternPtr pattern(cairo_pattern_create_for_surface(image.get()));
  cairo_pattern_set_filter(pattern.get(), CAIRO_FILTER_NEAREST);
  cairo_set_source(cr, pattern.get());
  cairo_rectangle(cr, 0, 0, static_cast<double>(columns), static_cast<double>(rows));
  cairo_fill(cr);
  cairo_restore(cr);
}

const std::vector<CellsInTheDark>& Canvas::cells_in_the_dark() const {
  return state_->cells;
}

Canvas::Clip::Clip(Canvas& canvas, const Box& box) : canvas_(canvas) {
  cairo_t* cr = canvas_.state_->cr.get();
  cairo_save(cr);
  cairo_rectangle(cr, box.x, box.y, box.width, box.height);
  cairo_clip(cr);
}

Canvas::Clip::~Clip() {
  cairo_restore(canvas_.state_->cr.get());
}

std::string Canvas::finish() {
  State& s = *state_;
  cairo_status_t status = cairo_status(s.cr.get());
  s.cr.reset();
  if (status == CAIRO_STATUS_SUCCESS && s.medium == Medium::kPng) {
    cairo_surface_flush(s.surface.get());
    s.bytes = png_of(s.surface.get());
  }
  cairo_surface_finish(s.surface.get());
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(s.surface.get());
  if (status != CAIRO_STATUS_SUCCESS) fail("figures: cannot draw: {}", cairo_status_to_string(status));
  return std::move(s.bytes);
}

}  // namespace buoy
