// From one row of logits to a token: temperature, nucleus and top-k filters, draws, Gumbel noise.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "buoy/base/random.h"
#include "buoy/base/types.h"

namespace buoy {

enum class FilterOrder { kTopPFirst, kTopKFirst };  // Dream's code; transformers'

struct SamplingOptions {
  double temperature = 0;  // 0: argmax
  double top_p = 1;        // 1: off
  Index top_k = 0;         // 0: off
  FilterOrder order = FilterOrder::kTopKFirst;
};

// Throws UsageError unless temperature >= 0, 0 < top_p <= 1, top_k >= 0.
void check_sampling(const SamplingOptions& options);

// softmax(logits / temperature) after the filters, in double precision. Filtered tokens have probability 0.
std::vector<double> filtered_probabilities(std::span<const float> logits, const SamplingOptions& options);

// argmax (temperature 0; lowest index on ties) or a draw by inverse transform with u in (0, 1).
TokenId choose_token(std::span<const double> probabilities, const SamplingOptions& options, double u);

// LLaDA's noise: argmax of exp(l)/(−ln u)^T, taken as argmax of l − T·ln(−ln u), the same order without
// overflow.
TokenId gumbel_argmax(std::span<const float> logits, double temperature, const DrawKey& key);

// Draw numbers within a (sample, step, position) stream, so that uses of the generator never meet.
inline constexpr std::uint64_t kTokenDraw = 0;
inline constexpr std::uint64_t kConfidenceDraw = 1;
inline constexpr std::uint64_t kFlipDraw = 2;
inline constexpr std::uint64_t kOrderDraw = 3;
inline constexpr std::uint64_t kGumbelDraws = 16;  // and the vocabulary after it

}  // namespace buoy
