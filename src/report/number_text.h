// Numbers as the tables of a page write them.
#pragma once

#include <string>

#include "analysis/sample_table.h"

namespace buoy {

// Three digits or so: "0.125", "12.50", "120.0", "1.2e-05".
std::string number_text(double value);
// "0.125 [0.100, 0.150]"; without brackets where there is no interval.
std::string interval_text(const Summary& summary);
// The same with signs, for differences: "+1.500 [-0.100, +3.000]".
std::string change_text(const Summary& summary);

}  // namespace buoy
