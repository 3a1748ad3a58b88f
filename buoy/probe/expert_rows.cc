#include "buoy/probe/expert_rows.h"

#include <algorithm>

#include "buoy/base/at.h"
#include "buoy/base/error.h"

namespace buoy {

void clear_experts(Index size, std::vector<std::int32_t>& experts, std::vector<float>& weights) {
  experts.assign(at(size), -1);
  weights.assign(at(size), 0.0F);
}

void put_experts(const Tap::RoutedRows& routed, const ExpertPlace& place, std::vector<std::int32_t>& experts,
                 std::vector<float>& weights) {
  const Index k = routed.active, rows = std::ssize(routed.experts) / k;
  check((place.layer + 1) * place.N * k <= std::ssize(experts), "a layer's experts are [N, active]");
  for (Index r = 0; r < rows; ++r) {
    const Index row = place.first_row + (routed.rows.empty() ? r : routed.rows[at(r)]);
    check(row < place.N, "rows are the sequence's own");
    const Index to = (place.layer * place.N + row) * k;
    std::copy_n(routed.experts.begin() + r * k, k, experts.begin() + to);
    std::copy_n(routed.weights.begin() + r * k, k, weights.begin() + to);
  }
}

}  // namespace buoy
