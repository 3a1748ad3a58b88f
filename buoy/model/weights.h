// The tensors a model expects, and the check that a checkpoint holds them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "buoy/base/log.h"
#include "buoy/io/safetensors.h"
#include "buoy/model/config.h"

namespace buoy {

struct ExpectedTensor {
  std::string name;
  Shape shape;
};

// Every tensor the transformer will read, in the order of the forward pass.
std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config);

// "model.layers.{}.x" → "model.layers.3.x"; "model.layers.{}.experts.{}.x" → "model.layers.3.experts.7.x".
std::string layer_tensor_name(std::string_view pattern, Index layer);
std::string expert_tensor_name(std::string_view pattern, Index layer, Index expert);

// The bias that belongs to a weight: "….weight" → "….bias".
std::string bias_name(std::string_view weight_name);

struct WeightReport {
  std::vector<std::string> problems;  // missing, wrong shape, wrong dtype: one line each
  std::vector<std::string> unused;    // tensors of the checkpoint that no layer reads
  Index parameters = 0;               // elements of the expected tensors that are there
  Index bytes = 0;                    // of those, in the checkpoint's own dtypes
  std::vector<DType> dtypes;          // that occur, each once
};

WeightReport inspect_weights(const ModelConfig& config, const Checkpoint& checkpoint);

// Throws Error listing all problems at once, and for the first tensor with NaN or infinite weights; sends
// unused tensors to `warnings`.
void verify_weights(const ModelConfig& config, const Checkpoint& checkpoint, const std::string& place,
                    const WarningSink& warnings);

// NaN and infinite elements.
Index count_nonfinite(const TensorView& tensor);

}  // namespace buoy
