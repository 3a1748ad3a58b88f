#include "buoy/analysis/top_keys.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace buoy {

std::optional<TopKeys> top_keys(std::span<const double> received, std::span<const double> null) {
  if (largest_excess(received, null) < 0) return std::nullopt;
  const auto excess = [&](Index j) { return received[j] - null[j]; };
  const Index N = std::ssize(received), k = (N + 9) / 10;
  std::vector<Index> order(N);
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::partial_sort(order, order.begin() + k, [&](Index a, Index b) {
    return excess(a) != excess(b) ? excess(a) > excess(b) : a < b;
  });
  order.resize(k);
  std::ranges::sort(order);
  return TopKeys{.positions = std::move(order), .N = N};
}

std::optional<double> agreement(const TopKeys& wanted, const TopKeys& found) {
  const double chance =
      static_cast<double>(found.positions.size()) / static_cast<double>(std::max(wanted.N, found.N));
  if (wanted.positions.empty() || chance >= 1) return std::nullopt;
  std::vector<Index> both;
  std::ranges::set_intersection(wanted.positions, found.positions, std::back_inserter(both));
  const double share = static_cast<double>(both.size()) / static_cast<double>(wanted.positions.size());
  return (share - chance) / (1 - chance);
}

}  // namespace buoy
