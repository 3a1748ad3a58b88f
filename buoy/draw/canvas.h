// A thin layer over Cairo and Pango: lines, boxes, measured text, images of cells. The only place that knows
// them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/draw/theme.h"

namespace buoy {

struct Point {
  double x = 0, y = 0;
};
struct Size {
  double width = 0, height = 0;
};
// In points; y grows downwards.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
  double middle_x() const { return x + width / 2; }
  double middle_y() const { return y + height / 2; }
};

enum class Weight { kRegular, kBold };
enum class AlignX { kLeft, kCentre, kRight };
enum class AlignY { kTop, kMiddle, kBottom };
enum class Turn { kNone, kUp };  // kUp: a quarter turn, read from below to above

struct TextStyle {
  double size = kTextSize;
  Color color = kInk;
  Weight weight = Weight::kRegular;
  AlignX align_x = AlignX::kLeft;  // which part of the text's box, as seen, stands at the given point
  AlignY align_y = AlignY::kTop;
  Turn turn = Turn::kNone;
  double max_width = 0;  // along the line of text; 0: no limit
  Index max_lines = 1;   // past 1 text is wrapped at max_width; what is too long ends in …
};

struct LineStyle {
  Color color = kAxisInk;
  double width = kThinLine;
  std::vector<double> dashes = {};
};

// What files can be made of a drawing; kNone measures only.
enum class Medium { kNone, kPdf, kSvg, kPng };

// Whether a dark page leaves cells as they are, or turns light into dark and keeps the hue.
enum class CellsInTheDark { kKept, kTurned };

// Whether figures can be drawn: fontconfig finds a font. May run on any thread.
bool fonts_present();

// Draws into memory. Everything is vector graphics but cells(). Text may be anything: broken UTF-8 is
// repaired. A canvas belongs to one thread. The constructor throws Error when no font is installed.
class Canvas {
 public:
  Canvas(Medium medium, Size size);
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  ~Canvas();

  // The box the text takes, as seen (turned, wrapped, cut).
  Size measure(std::string_view text, const TextStyle& style) const;
  void text(Point at, std::string_view text, const TextStyle& style);

  void line(Point from, Point to, const LineStyle& style);
  void polyline(std::span<const Point> points, const LineStyle& style);
  void fill(std::span<const Point> polygon, Color color);
  void fill(const Box& box, Color color);
  void stroke(const Box& box, const LineStyle& style);
  void dot(Point at, double radius, Color color);
  // Diagonal lines over the boxes, in one pattern for all, so that neighbours join.
  void hatch(std::span<const Box> boxes, Color color);
  // columns × rows colours stretched over the box without smoothing; what is wholly transparent leaves what
  // was there.
  void cells(const Box& box, Index columns, std::span<const Color> colors,
             CellsInTheDark dark = CellsInTheDark::kKept);

  // Everything until the guard goes away is cut at the box.
  class Clip {
   public:
    Clip(Canvas& canvas, const Box& box);
    Clip(const Clip&) = delete;
    Clip& operator=(const Clip&) = delete;
    ~Clip();

   private:
    Canvas& canvas_;
  };

  // Ends the drawing and hands out the file's bytes (empty for kNone). Call once. Throws Error when Cairo
  // failed.
  std::string finish();
  // What was said with each call of cells(), in order.
  const std::vector<CellsInTheDark>& cells_in_the_dark() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace buoy
