// Which experts the rows of a pass went to, laid out as a trace keeps it.
#pragma once

#include <vector>

#include "buoy/model/tap.h"

namespace buoy {

// Where a layer's rows stand in arrays [layers, N, active].
struct ExpertPlace {
  Index layer = 0;
  Index N = 0;
  Index first_row = 0;  // the position of the pass's first row
};

// `size` entries of no expert, weight 0.
void clear_experts(Index size, std::vector<std::int32_t>& experts, std::vector<float>& weights);

// Rows that did not go to experts keep what they have: -1, after clear_experts().
void put_experts(const Tap::RoutedRows& routed, const ExpertPlace& place, std::vector<std::int32_t>& experts,
                 std::vector<float>& weights);

}  // namespace buoy
