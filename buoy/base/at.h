// An Index as the standard containers count: values[at(i)].
#pragma once

#include <cstddef>

#include "buoy/base/types.h"

namespace buoy {

inline std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

}  // namespace buoy
