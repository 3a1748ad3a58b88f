// Curves as plain data: series with bands and null lines in one or more panels. See figure.h to draw.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/draw/range.h"
#include "buoy/draw/theme.h"

namespace buoy {

enum class Markers { kNone, kDots };
enum class Palette {
  kCategorical,  // unlike things: at most six names in a figure
  kOrdered,      // steps of one thing (layers, sizes): dark to light in order of appearance, any number
};
enum class LegendPlace {
  kAuto,  // beside the ends of the lines when there is one panel and room, else above
  kAbove,
  kBeside,
  kNone,
};

// A NaN in y interrupts the line. A name has one colour in all panels, asked for where it first appears. No
// name: a thin line in the ink of axes, in no key; a panel of such alone has no numbers at its side.
struct Series {
  std::string name;
  std::vector<double> x, y;                 // [n]; n may be 0 or 1
  std::vector<double> low = {}, high = {};  // [n] the interval around y, or empty
  std::vector<double> null = {};            // [n] the null model, drawn dashed in the same hue; or empty
  Markers markers = Markers::kNone;
  Index color = kColorByOrder;  // or which of the series' colours: that of the model it belongs to
  double strength = 1;          // opacity, where several lines belong to one model
};

// A stretch of the y axis with a name (a region of positions), drawn behind the curves.
struct AxisBand {
  double low = 0, high = 0;
  std::string name;
  bool marked = false;
};

struct AxisTick {
  double at = 0;
  std::string label;
};

struct CurvePanel {
  std::string title = {};
  std::vector<Series> series;
  std::vector<AxisBand> bands = {};
  std::optional<Range> y_range = {};  // this panel's own, over the figure's
  // A horizontal axis of its own: its range is that of the panel's data. Labels without room are left out.
  // Given for all panels of a figure or for none.
  std::vector<AxisTick> x_ticks = {};
  std::string x_title = {};
};

struct Curves {
  std::string title = {}, note = {};
  double width = kColumnWidth;
  Index panels_across = 1;
  double panel_height = 0;  // points; 0: chosen from the width of a panel
  std::string x_title = {}, y_title = {};
  std::optional<Range> x_range = {},
                       y_range = {};  // without: from the data; panels then share the same range
  std::string null_name = "null";     // of the dashed lines, for the key
  Palette palette = Palette::kCategorical;
  LegendPlace legend = LegendPlace::kAuto;
  std::vector<CurvePanel> panels = {};
};

}  // namespace buoy
