// Heatmaps as plain data: panels of cells over shared axes, anchors hatched, regions as bands. See figure.h
// to draw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/draw/theme.h"

namespace buoy {

enum class ValueScale { kLinear, kSqrt, kLog };  // kLog: values of 0 and less are drawn as the lowest colour
enum class RowOrder { kDown, kUp };              // where row 0 stands: on top (steps), at the bottom (layers)
enum class CellNumbers { kHidden, kShown };  // kShown still hides them when a cell has no room for its number

// How values become colours. Without low or high the smallest or largest finite value of the panels that
// share the scale is taken (0 where the smallest is close to it); a diverging map without them is made
// symmetric about 0.
struct ColorScale {
  std::string title;  // of the colour bar
  ColorMap map = ColorMap::kViridis;
  ValueScale scale = ValueScale::kLinear;
  std::optional<double> low, high;
};

// Rows or columns. Labels that would touch are left out evenly.
struct CellAxis {
  std::string title;
  std::vector<std::string> labels;  // one per row or column; empty: the numbers first, first + 1, …
  Index first = 0;
};

// A stretch of positions with a name: begin <= position < end.
struct Band {
  Index begin = 0, end = 0;
  std::string name;
  std::string short_name = {};  // used by all that have one, once one long name has no room
  bool marked = false;          // stands out: the gold passage
};

// A block of cells to outline; end exclusive.
struct CellBlock {
  Index row_begin = 0, row_end = 0, column_begin = 0, column_end = 0;
};

// The text of a column, written above the panel with a leader line. Where there is no room for all, those
// with the smallest weight are left out.
struct ColumnLabel {
  Index column = 0;
  std::string text;
  double weight = 0;
};

struct HeatmapPanel {
  std::string title;
  Index rows = 0, columns = 0;
  std::vector<float> values;         // [rows, columns]; NaN: no value, drawn grey
  std::vector<std::int8_t> hatched;  // [rows, columns] 1: hatched; empty: none
  std::vector<CellBlock> outlined;   // drawn in kMark
  std::vector<ColumnLabel> labels;   // in any order
  std::optional<ColorScale> color;   // its own scale and colour bar instead of the figure's
  Index swatch = kColorByOrder;      // or the colour of the model it shows: a square before the title
};

struct Heatmap {
  std::string title = {};     // of the whole figure; papers often leave it to the caption
  std::string note = {};      // small print below: sample count, what the interval is
  double width = kTextWidth;  // at most; a figure of few cells is narrower
  Index panels_across = 1;
  double panel_height = 0;  // points; 0: chosen from the shape of the panel
  CellAxis row_axis = {}, column_axis = {};
  RowOrder row_order = RowOrder::kDown;
  std::vector<Band> bands = {};  // below the columns, ascending
  std::string hatch_name = {};   // what hatching means, for the key; empty: no key
  std::string outline_name = {};
  ColorScale color = {};
  CellNumbers numbers = CellNumbers::kHidden;
  int decimals = 2;  // of the numbers in cells
  std::vector<HeatmapPanel> panels = {};
};

}  // namespace buoy
