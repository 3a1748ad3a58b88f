// One draw function per kind of figure. Each returns the size of what it drew, so that a first call on a
// canvas that only measures tells how large the file's canvas must be.
#pragma once

#include "buoy/draw/bars.h"
#include "buoy/draw/canvas.h"
#include "buoy/draw/curves.h"
#include "buoy/draw/forest.h"
#include "buoy/draw/heatmap.h"

namespace buoy {

// All throw Error when the data does not fit together.
Size draw(Canvas& canvas, const Heatmap& heatmap);
Size draw(Canvas& canvas, const Curves& curves);
Size draw(Canvas& canvas, const Bars& bars);
Size draw(Canvas& canvas, const Forest& forest);

}  // namespace buoy
