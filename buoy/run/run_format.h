// What a run's file says of itself in SQLite's header. Private to run.
#pragma once

#include "buoy/base/types.h"

namespace buoy {

inline constexpr Index kRunApplication = 0x42754F79, kRunVersion = 4;  // "BuOy"

}  // namespace buoy
