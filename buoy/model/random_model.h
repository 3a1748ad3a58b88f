// Models of a named shape with random weights: for timing, where only sizes matter.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "buoy/model/transformer.h"

namespace buoy {

// The names make_shape() knows.
std::vector<std::string> shape_names();

// The config of a published model's shape, or of a small one. Throws Error listing the names when unknown.
ModelConfig make_shape(const std::string& name);

// Weights in bf16, uniform with standard deviation 0.02; norms are 1. States of mixers that have them fade by
// 2 % a position.
class RandomWeights {
 public:
  explicit RandomWeights(const ModelConfig& config);
  // A tensor of expected_tensors(config). Tensors overlap: memory is that of the largest.
  TensorView find(std::string_view name) const;

 private:
  std::map<std::string, Shape, std::less<>> shapes_;
  std::vector<std::uint16_t> noise_, ones_, small_steps_;
};

}  // namespace buoy
