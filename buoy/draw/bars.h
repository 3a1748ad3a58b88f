// Bars as plain data: groups of series with whiskers and null marks. See figure.h to draw.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "buoy/draw/curves.h"

namespace buoy {

enum class ValueLabels { kHidden, kShown };

// A NaN is something that is not there: no bar, no whisker, no mark.
struct Bar {
  double value = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN();  // the ends of the whisker
  double high = std::numeric_limits<double>::quiet_NaN();
  double null = std::numeric_limits<double>::quiet_NaN();  // drawn as a dashed tick across the bar
};

// How a bar is filled: series of one model share its colour and differ in this.
enum class Fill { kSolid, kHatched, kPale };

struct BarSeries {
  std::string name;
  std::vector<Bar> bars;        // one per group
  Index color = kColorByOrder;  // or which of the series' colours: that of the model it belongs to
  Fill fill = Fill::kSolid;
};

// A line across all groups: chance, zero gain.
struct ReferenceLine {
  double value = 0;
  std::string name;
};

struct Bars {
  std::string title = {}, note = {};
  double width = kColumnWidth;
  double height = 0;  // of the plot, points; 0: chosen from the width
  std::string y_title = {};
  std::optional<Range> y_range = {};  // without: from the data, with 0 inside
  std::string null_name = "null";
  std::optional<ReferenceLine> reference = {};
  ValueLabels labels = ValueLabels::kHidden;
  int decimals = 1;
  std::vector<std::string> groups = {};
  std::vector<BarSeries> series = {};  // at most six
};

}  // namespace buoy
