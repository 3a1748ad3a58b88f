// Which experts a row goes to, and with what weight.
#pragma once

#include <span>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// How scores become weights. Softmax: a row's probabilities, with the bias where there is one. Sigmoid: each
// expert's own, where the bias counts for the choice and not for the weight.
enum class RouterKind { kSoftmax, kSigmoid };

struct RouterRule {
  RouterKind kind = RouterKind::kSoftmax;
  Index active = 1;                   // experts a row goes to
  Index groups = 1, kept_groups = 1;  // only the groups whose two best add up to most are chosen from
  bool normalize = false;             // weights are divided by their sum
  float scale = 1;                    // and multiplied by this
};

// The experts of rows, best first, ties to the lowest number.
struct Routing {
  Index active = 0;
  std::vector<std::int32_t> experts;  // [rows, active]
  std::vector<float> weights;         // [rows, active]
};

// Appends what the rule makes of one row's scores; `bias` is as long or empty.
void route_row(const RouterRule& rule, std::span<const float> scores, std::span<const float> bias,
               Routing& routing);

}  // namespace buoy
