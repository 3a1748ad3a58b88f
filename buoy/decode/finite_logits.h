// Logits that are not finite end a generation with a line that says where they began.
#pragma once

#include <span>

#include "buoy/decode/generation.h"
#include "buoy/model/model.h"

namespace buoy {

// Which row of logits: of what sample (its stream, which is its number in a data set) and which position it
// decides.
struct LogitPlace {
  std::uint32_t sample = 0;
  const Generation* generation = nullptr;  // as the pass saw it
  Index position = 0;
};

// Throw Error unless the row is finite, naming place and, by one more pass over the same tokens, the layer
// whose output was the first that was not.
void check_finite(const Model& model, const LogitPlace& place, std::span<const float> row);
void check_finite(const Model& model, const LogitPlace& place, const LogitSummary& summary);

}  // namespace buoy
