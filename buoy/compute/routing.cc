#include "buoy/compute/routing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

std::vector<double> router_probabilities(RouterKind kind, std::span<const float> scores) {
  std::vector<double> p(scores.begin(), scores.end());
  if (kind == RouterKind::kSigmoid) {
    for (double& value : p) value = 1 / (1 + std::exp(-value));
    return p;
  }
  const double largest = *std::ranges::max_element(p);
  double total = 0;
  for (double& value : p) total += value = std::exp(value - largest);
  for (double& value : p) value /= total;
  return p;
}

// The `count` largest, best first, ties to the lowest number.
std::vector<std::size_t> largest_of(std::span<const double> values, Index count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto better = [&](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  };
  std::ranges::partial_sort(order, order.begin() + count, better);
  order.resize(static_cast<std::size_t>(count));
  return order;
}

// Leaves only the best groups of neighbours to be chosen from.
void drop_groups(const RouterRule& rule, std::vector<double>& ranked) {
  const std::size_t size = ranked.size() / static_cast<std::size_t>(rule.groups);
  std::vector<double> sums;
  for (std::size_t first = 0; first < ranked.size(); first += size) {
    double best = kNever, second = kNever;
    for (std::size_t e = first; e < first + size; ++e) {
      second = std::max(second, std::min(best, ranked[e]));
      best = std::max(best, ranked[e]);
    }
    sums.push_back(size == 1 ? best : best + second);
  }
  const std::vector<std::size_t> kept = largest_of(sums, rule.kept_groups);
  for (std::size_t e = 0; e < ranked.size(); ++e) {
    if (std::ranges::find(kept, e / size) == kept.end()) ranked[e] = kNever;
  }
}

}  // namespace

void route_row(const RouterRule& rule, std::span<const float> scores, std::span<const float> bias,
               Routing& routing) {
  check(bias.empty() || bias.size() == scores.size(), "every expert has its bias");
  check(rule.active >= 1 && rule.active <= std::ssize(scores), "a row goes to some of the experts");
  std::vector<double> weights = router_probabilities(rule.kind, scores), ranked = weights;
  for (std::size_t e = 0; e < bias.size(); ++e) ranked[e] += bias[e];
  if (rule.kind == RouterKind::kSoftmax) weights = ranked;
  if (rule.groups > 1) drop_groups(rule, ranked);
  const std::vector<std::size_t> chosen = largest_of(ranked, rule.active);
  double total = 0;
  for (const std::size_t e : chosen) total += weights[e];
  const double factor = rule.scale / (rule.normalize ? total + 1e-20 : 1.0);
  routing.active = rule.active;
  for (const std::size_t e : chosen) {
    routing.experts.push_back(static_cast<std::int32_t>(e));
    routing.weights.push_back(static_cast<float>(weights[e] * factor));
  }
}

}  // namespace buoy
