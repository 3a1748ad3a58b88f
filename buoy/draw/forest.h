// A forest plot as plain data: one row per estimate with its interval on a common axis. See figure.h to draw.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "buoy/draw/curves.h"

namespace buoy {

// Told apart by shape, and by colour where rows have none of their own.
enum class ForestMark { kDot, kRing, kCross };

// What a row is compared with, told apart by shape.
enum class ForestNullMark { kTick, kSquare, kDiamond, kTriangle };

struct ForestNull {
  double value = 0;
  ForestNullMark mark = ForestNullMark::kTick;
};

struct ForestRow {
  std::string group;   // a heading stands above the first row of each
  std::string name;    // written once for neighbours that share group and name
  std::string detail;  // below the name, small: which models
  double value = std::numeric_limits<double>::quiet_NaN();  // NaN: no mark, and `text` says why
  double low = std::numeric_limits<double>::quiet_NaN();    // the interval
  double high = std::numeric_limits<double>::quiet_NaN();
  ForestMark mark = ForestMark::kDot;
  std::string text;  // right of the plot: the number in words, or why there is none
  // Or which of the series' colours: that of the model, with a square before `detail`.
  Index color = kColorByOrder;
  std::vector<ForestNull> nulls = {};  // below the interval; one outside the axis stands at its edge
};

struct ForestKey {
  ForestMark mark = ForestMark::kDot;
  std::string name;
};

struct ForestNullKey {
  ForestNullMark mark = ForestNullMark::kTick;
  std::string name;
};

struct Forest {
  std::string title = {}, note = {};
  double width = kTextWidth;
  std::string x_title = {}, text_title = {};
  std::optional<Range> x_range = {};  // without: from the data; what lies outside ends in an arrow
  double origin = 0;                  // a solid line
  std::string origin_name = {};
  std::optional<double> threshold = {};  // a dashed line; what lies to its right is tinted
  std::string threshold_name = {};
  std::vector<ForestKey> key = {};
  std::vector<ForestNullKey> null_key = {};
  std::vector<ForestRow> rows = {};
};

}  // namespace buoy
