#include "buoy/decode/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr double kLogZero = -std::numeric_limits<double>::infinity();

std::vector<double> softmax(std::span<const double> logits) {
  const double largest = *std::ranges::max_element(logits);
  std::vector<double> p(logits.size());
  double total = 0;
  for (std::size_t i = 0; i < p.size(); ++i) total += p[i] = std::exp(logits[i] - largest);
  for (double& value : p) value /= total;
  return p;
}

// Keeps the most probable tokens until their sum passes top_p; the one that passes it stays.
void keep_top_p(std::vector<double>& logits, double top_p) {
  if (top_p >= 1) return;
  const std::vector<double> p = softmax(logits);
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
  double before = 0;
  for (const std::size_t i : order) {
    if (before > top_p) logits[i] = kLogZero;
    before += p[i];
  }
}

// Keeps everything that reaches the k-th largest logit.
void keep_top_k(std::vector<double>& logits, Index top_k) {
  if (top_k <= 0 || top_k >= std::ssize(logits)) return;
  std::vector<double> sorted = logits;
  const auto kth = sorted.begin() + (top_k - 1);
  std::ranges::nth_element(sorted, kth, std::greater<>());
  for (double& logit : logits) {
    if (logit < *kth) logit = kLogZero;
  }
}

}  // namespace

void check_sampling(const SamplingOptions& options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature)) {
    fail_usage("temperature is {}, expected 0 or more", options.temperature);
  }
  if (!(options.top_p > 0 && options.top_p <= 1))
    fail_usage("top_p is {}, expected above 0, at most 1", options.top_p);
  if (options.top_k < 0) fail_usage("top_k is {}, expected 0 or more", options.top_k);
}

std::vector<double> filtered_probabilities(std::span<const float> logits, const SamplingOptions& options) {
  std::vector<double> scaled(logits.begin(), logits.end());
  if (options.temperature > 0) {
    for (double& logit : scaled) logit /= options.temperature;
  }
  if (options.order == FilterOrder::kTopKFirst) keep_top_k(scaled, options.top_k);
  keep_top_p(scaled, options.top_p);
  if (options.order == FilterOrder::kTopPFirst) keep_top_k(scaled, options.top_k);
  return softmax(scaled);
}

TokenId choose_token(std::span<const double> probabilities, const SamplingOptions& options, double u) {
  if (options.temperature == 0) {
    return static_cast<TokenId>(std::ranges::max_element(probabilities) - probabilities.begin());
  }
  double below = 0;
  TokenId last = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] <= 0) continue;
    last = static_cast<TokenId>(i);
    below += probabilities[i];
    if (u < below) return last;
  }
  return last;  // the sum fell short of u by rounding
}

TokenId gumbel_argmax(std::span<const float> logits, double temperature, const DrawKey& key) {
  TokenId best = 0;
  double best_value = kLogZero;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double value = logits[i] - temperature * std::log(-std::log(uniform(key, kGumbelDraws + i)));
    if (value > best_value) {
      best_value = value;
      best = static_cast<TokenId>(i);
    }
  }
  return best;
}

}  // namespace buoy
