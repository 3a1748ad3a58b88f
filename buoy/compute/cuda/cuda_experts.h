// Experts on the card: rows are routed there, brought into the order of experts, and all experts' products
// run at once. Nothing comes home unless someone asks for the routing.
#pragma once

#include <memory>

#include "buoy/compute/cuda/expert_params.h"
#include "buoy/compute/cuda/memory.h"
#include "buoy/compute/layer.h"

namespace buoy::cuda {

// Addresses of a layer's experts and what else never changes, on the card. The experts must outlive it.
struct ExpertTable {
  std::shared_ptr<Buffer> memory;
  const ExpertWeights* weights = nullptr;  // [count]
  const float* bias = nullptr;             // [count] or null
  const TensorMap* maps = nullptr;         // [count, 2] or null
};

// One caller at a time.
class CudaExperts {
 public:
  CudaExperts(const Device& device, std::shared_ptr<Queue> queue, Pool& pool)
      : device_(device), queue_(std::move(queue)), pool_(pool) {}

  // Whether weights' type, sizes and numbers are such that run() can do it.
  static bool can_run(const Experts& all, DType type, const Tensor& x);

  // x += Σ weight·expert(row), without what all rows go through. scores [rows, experts] float32 are the
  // router's; normed is bf16, rows one after the other, x float32. `routing` may be null.
  void run(const Experts& all, const Tensor& scores, const Tensor& normed, Routing* routing, const Tensor& x);

 private:
  const ExpertTable& table_of(const Experts& all);
  bool uses_hopper(Index F) const {
    return device_.major == 9 && device_.minor == 0 && F % kWeightBoxRows == 0;
  }
  void fetch(const ExpertView& view, Routing& routing);

  Device device_;
  std::shared_ptr<Queue> queue_;
  Pool& pool_;
};

}  // namespace buoy::cuda
