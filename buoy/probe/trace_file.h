// A trace from the arrays of its file, wherever they come from.
#pragma once

#include <string>

#include "buoy/io/npz.h"
#include "buoy/probe/trace.h"

namespace buoy {

// What read_trace() makes of a file's arrays; `place` names them in errors. Throws Error.
Trace trace_of_arrays(NpzArrays arrays, const std::string& place);

}  // namespace buoy
