// The parts that a layer is made of, as a device is handed them. A kind of part that does not exist yet
// becomes an alternative (or an optional of its own) here; the compiler then lists the places that must know
// it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "buoy/compute/tensor.h"

namespace buoy {

// A projection's weights in whatever form the backend likes best.
class Linear {
 public:
  virtual ~Linear() = default;
  virtual Index inputs() const = 0;
  virtual Index outputs() const = 0;
};

// x / sqrt(mean(x²) + epsilon) · weight.
struct RmsNorm {
  Tensor weight;  // [1, E]
  float epsilon = 0;
};
using Norm = std::variant<RmsNorm>;

// Cosines and sines of rotary embedding, one row per position.
struct RopeTable {
  Tensor cosines, sines;  // [positions, D/2] f32
};

// Rotary embedding of the heads of size D in the first `columns` columns.
struct Rotation {
  const RopeTable& table;
  Index D, columns;
  std::span<const Index> positions;  // per row
};

// down·(silu(gate)·up).
struct SwigluMlp {
  std::unique_ptr<Linear> gate_up, down;  // E → 2F, F → E
};
using FeedForward = std::variant<SwigluMlp>;

// From the residual stream to what a layer mixes along the sequence (for attention: queries, keys and
// values).
struct LayerInput {
  const Norm& norm;
  const Linear& projection;
  std::optional<Rotation> rotation;  // of what was projected
};

// Back from what was mixed: projection into the residual stream, then norm and feed-forward on top of it.
struct LayerOutput {
  const Linear& projection;
  const Norm& norm;
  const FeedForward& feed_forward;
};

}  // namespace buoy
