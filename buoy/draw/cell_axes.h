// The edges of a heatmap: row and column labels, bands below, labels of single columns above. Each edge is
// first planned (how much room does it take?) and then drawn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buoy/draw/canvas.h"
#include "buoy/draw/heatmap.h"

namespace buoy {

// Which labels of an axis are written, and how.
struct LabelPlan {
  std::vector<Index> shown;
  std::vector<std::string> texts;  // one per shown
  Turn turn = Turn::kNone;
  double extent = 0;  // how far they reach away from the plot, tick included
};

struct BandPlan {
  struct Name {
    Index band = 0;
    std::string text;
    std::optional<double> below;  // x of a name below the band; none: written inside it
  };
  std::vector<Name> names;
  Turn turn = Turn::kNone;  // of the names below
  double extent = 0;
};

// Everything below a panel.
struct FootPlan {
  LabelPlan labels;
  BandPlan bands;
  double extent = 0;  // with the axis title
};

// Rows: how wide the labels are. `pitch` is the height of a row.
LabelPlan plan_rows(const Canvas& canvas, const CellAxis& axis, Index rows, double pitch);
void draw_rows(Canvas& canvas, const LabelPlan& plan, const Box& plot, Index rows, RowOrder order);

FootPlan plan_foot(const Canvas& canvas, const Heatmap& heatmap, Index columns, double width);
void draw_foot(Canvas& canvas, const FootPlan& plan, const Heatmap& heatmap, const Box& plot, Index columns);

// Labels of single columns, above the panel.
struct HeadPlan {
  struct Label {
    std::string text;
    double column = 0, at = 0;  // from the left edge of the plot
  };
  std::vector<Label> labels;
  Turn turn = Turn::kNone;
  double extent = 0;
};
HeadPlan plan_head(const Canvas& canvas, const HeatmapPanel& panel, double width);
void draw_head(Canvas& canvas, const HeadPlan& plan, const Box& plot);

}  // namespace buoy
