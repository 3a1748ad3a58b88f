// The parts that a layer is made of, as a device is handed them. A kind of part that does not exist yet
// becomes an alternative (or an optional of its own) here; the compiler then lists the places that must know
// it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "buoy/compute/routing.h"
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

// Cosines and sines of rotary embedding, one row per position. Heads larger than twice its columns are
// rotated in their first dimensions only.
struct RopeTable {
  Tensor cosines, sines;  // [positions, rotated dimensions/2] f32
};

// What queries, keys and values go through before rotation: RMS norm of each head of queries and keys with
// one weight for all of them, then a bound, then a factor on the queries.
struct HeadTransform {
  const RmsNorm *query_norm = nullptr, *key_norm = nullptr;  // weights [1, D]; null: none
  float bound = 0;                                           // of all three; 0: none
  float query_scale = 1;
  Index D, query_columns, key_columns;  // keys follow the queries, values the keys
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

// Some of many such, chosen row by row: Σ weight·expert(row), and what every row goes through besides.
struct Experts {
  std::unique_ptr<Linear> router;  // E → number of experts
  std::vector<float> bias;         // [experts], or none
  RouterRule rule;
  std::vector<SwigluMlp> experts;
  std::optional<SwigluMlp> shared;
};
using FeedForward = std::variant<SwigluMlp, Experts>;

// From the residual stream to what a layer mixes along the sequence (for attention: queries, keys and
// values).
struct LayerInput {
  const Norm& norm;
  const Linear& projection;
  std::optional<HeadTransform> heads;  // of what was projected
  std::optional<Rotation> rotation;    // then
};

// Back from what was mixed: projection into the residual stream, then norm and feed-forward on top of it.
struct LayerOutput {
  const Linear& projection;
  const Norm& norm;
  const FeedForward& feed_forward;
  Routing* routing = nullptr;  // filled where rows go to experts; null: nobody asks
};

}  // namespace buoy
