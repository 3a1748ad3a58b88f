#include "buoy/analysis/anchors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr std::array<std::string_view, 4> kRuleNames = {"excess", "sigma", "offset", "topk"};

struct Spread {
  double mean = 0, deviation = 0;
};

Spread spread_of(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.mean = mean, .deviation = std::sqrt(squares / n)};
}

bool is_flat(const Spread& spread, std::size_t N) {
  return spread.deviation < kFlat / static_cast<double>(N);
}

std::vector<double> excess_of(std::span<const double> received, std::span<const double> null) {
  check(received.size() == null.size(), "received attention and its null have the same length");
  std::vector<double> excess(received.size());
  for (std::size_t j = 0; j < excess.size(); ++j) excess[j] = received[j] - null[j];
  return excess;
}

std::vector<Index> above(std::span<const double> values, double threshold) {
  std::vector<Index> found;
  for (Index j = 0; j < std::ssize(values); ++j) {
    if (values[j] > threshold) found.push_back(j);
  }
  return found;
}

Index largest(std::span<const double> values) {
  return std::ranges::max_element(values) - values.begin();  // the first of equals
}

std::vector<Index> by_excess(std::span<const double> received, std::span<const double> null,
                             const AnchorOptions& options) {
  const std::vector<double> excess = excess_of(received, null);
  const Spread spread = spread_of(excess);
  if (is_flat(spread, excess.size())) return {};
  std::vector<Index> found = above(excess, options.epsilon * spread.deviation);
  std::erase_if(found, [&](Index j) { return received[j] < options.min_lift * null[j]; });
  return found;
}

std::vector<Index> by_offset(std::span<const double> received, double epsilon) {
  const double total = std::accumulate(received.begin(), received.end(), 0.0);
  const double others = std::max(1.0, static_cast<double>(received.size()) - 1);
  std::vector<Index> found;
  for (Index j = 0; j < std::ssize(received); ++j) {
    if (received[j] > (total - received[j]) / others + epsilon) found.push_back(j);
  }
  if (found.empty()) found.push_back(largest(received));
  return found;
}

std::vector<Index> largest_k(std::span<const double> received, Index k) {
  std::vector<Index> order(received.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, [&](Index a, Index b) { return received[a] > received[b]; });
  order.resize(static_cast<std::size_t>(std::min(k, std::ssize(order))));
  std::ranges::sort(order);
  return order;
}

}  // namespace

std::string_view name_of(AnchorRule rule) {
  return kRuleNames[static_cast<std::size_t>(rule)];
}

std::optional<AnchorRule> parse_anchor_rule(std::string_view name) {
  const auto it = std::ranges::find(kRuleNames, name);
  if (it == kRuleNames.end()) return std::nullopt;
  return static_cast<AnchorRule>(it - kRuleNames.begin());
}

std::vector<Index> find_anchors(std::span<const double> received, std::span<const double> null,
                                const AnchorOptions& options) {
  if (!(options.epsilon >= 0)) {
    fail_usage("anchors: got epsilon {}, expected a number of at least 0", options.epsilon);
  }
  if (!(options.min_lift >= 0)) {
    fail_usage("anchors: got a least lift of {}, expected a number of at least 0", options.min_lift);
  }
  if (options.k < 1) fail_usage("anchors: got k = {}, expected at least 1", options.k);
  if (received.empty()) return {};
  switch (options.rule) {
    case AnchorRule::kExcess:
      return by_excess(received, null, options);
    case AnchorRule::kSigma: {
      const Spread spread = spread_of(received);
      return is_flat(spread, received.size())
                 ? std::vector<Index>{}
                 : above(received, spread.mean + options.epsilon * spread.deviation);
    }
    case AnchorRule::kOffset:
      return by_offset(received, options.epsilon);
    case AnchorRule::kTopK:
      return largest_k(received, options.k);
  }
  return {};
}

Index largest_excess(std::span<const double> received, std::span<const double> null) {
  if (received.empty()) return -1;
  const std::vector<double> excess = excess_of(received, null);
  return is_flat(spread_of(excess), excess.size()) ? -1 : largest(excess);
}

std::optional<double> anchor_centre(std::span<const double> received, std::span<const double> null,
                                    std::span<const Index> positions) {
  double mass = 0, moment = 0;
  for (const Index j : positions) {
    const double excess = std::max(0.0, received[j] - null[j]);
    mass += excess;
    moment += excess * static_cast<double>(j);
  }
  const double rounding =
      kFlat / static_cast<double>(received.size()) * static_cast<double>(positions.size());
  if (positions.empty() || mass < rounding) return std::nullopt;
  return moment / mass;
}

std::optional<std::string> anchor_warning(const AnchorOptions& options, Index N) {
  const bool counts_deviations = options.rule == AnchorRule::kExcess || options.rule == AnchorRule::kSigma;
  const double most = options.epsilon * options.epsilon + 1;
  if (!counts_deviations || static_cast<double>(N) > most) return std::nullopt;
  return fmt::format(
      "anchors: with epsilon {} the rule {} finds nothing in {} positions, it needs more than {}",
      options.epsilon, name_of(options.rule), N, most);
}

}  // namespace buoy
