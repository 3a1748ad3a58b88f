// A range of a text.
#pragma once

#include "buoy/base/types.h"

namespace buoy {

// Code points of a text, end exclusive. In ASCII text bytes and code points agree.
struct TextSpan {
  Index begin = 0, end = 0;
  bool operator==(const TextSpan&) const = default;
};

}  // namespace buoy
