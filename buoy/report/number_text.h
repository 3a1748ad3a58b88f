// Numbers as the tables of a page write them.
#pragma once

#include <string>

#include "buoy/analysis/sample_table.h"

namespace buoy {

// How many digits after the point, in every row of a column: three, or one for percentages. The CSV files
// have more. A minus is a minus sign (−), and what rounds to 0 has none.
enum class Digits { kThree, kPercent };

std::string number_text(double value, Digits digits = Digits::kThree);
// "0.125 [0.100, 0.150]"; without brackets where there is no interval.
std::string interval_text(const Summary& summary, Digits digits = Digits::kThree);
// The same with signs, for differences: "+1.500 [−0.100, +3.000]".
std::string change_text(const Summary& summary, Digits digits = Digits::kThree);

}  // namespace buoy
