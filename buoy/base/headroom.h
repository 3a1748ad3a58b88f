// What libraries need and do not ask for: where it is not there they crash or wait for ever.
#pragma once

#include <string_view>

#include "buoy/base/types.h"

namespace buoy {

// Throws Error where the system would not give so much memory more, or start a thread more. What is given
// back at once may be gone a moment later: this keeps limits (ulimit -v, -u) from ending in a segmentation
// fault, no more.
void check_memory_left(Index mebibytes, std::string_view what);
void check_thread_left(std::string_view what);

}  // namespace buoy
