// The whole command as a function: for main, and for whoever carries the command along.
#pragma once

#include <string>
#include <vector>

namespace buoy {

// Runs a verb with its arguments (without the command's name), prints, and returns the exit code: 0 done, 1
// the work failed, 2 wrong usage, 130 stopped by Ctrl-C. What failed is said on standard error, as one line.
int run_command(const std::vector<std::string>& arguments);

}  // namespace buoy
