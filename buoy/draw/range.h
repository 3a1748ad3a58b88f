// The span of an axis.
#pragma once

namespace buoy {

struct Range {
  double low = 0, high = 1;
};

}  // namespace buoy
