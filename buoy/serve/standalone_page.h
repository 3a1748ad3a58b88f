// The explorer's page with its data inside: one file that needs no server.
#pragma once

#include <string>

#include "buoy/serve/explorer.h"

namespace buoy {

// Holds the runs of the settings' traces with everything that was recorded; numbers as float16, so that a
// trace of 512 tokens, 32 steps and 12 layers stays under 10 MB. What would have to be computed is not in it.
// Throws Error as Explorer does.
std::string standalone_page(const ExplorerSettings& settings);

// Whether a trace's page stays small enough for a browser to open at once: about 30 MB.
bool fits_a_page(const Trace& trace);

}  // namespace buoy
