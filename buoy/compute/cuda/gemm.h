// Projections on cuBLASLt that give a row the same bits whatever stands beside it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "buoy/compute/backend.h"
#include "buoy/compute/cuda/cublas_lt.h"
#include "buoy/compute/cuda/memory.h"

namespace buoy::cuda {

struct ExpertTable;  // cuda_experts.h

// Weights on the card, rows one after the other, in the backend's type.
struct CudaLinear : Linear {
  Tensor weights;              // [out, in]
  Tensor bias_f32, bias_bf16;  // [1, out], or empty
  // Where the experts lie that a router chooses from; made when they are first used, and goes with it.
  mutable std::shared_ptr<const ExpertTable> experts;
  Index inputs() const override { return weights.cols(); }
  Index outputs() const override { return weights.rows(); }
};

// One product as the library sees it, ready to be started. It counts in columns: yᵀ [outputs, rows] = W
// [inputs, outputs]ᵀ · xᵀ [inputs, rows] + bias.
struct Product {
  cublasLtHandle_t handle;
  cublasLtMatmulAlgo_t algorithm;
  DType type, y_type;  // of W and x; of y and the bias
  Index rows, inputs, outputs;
  const void *weights, *x, *bias;  // bias or null
  void *y, *workspace;
  float keep;  // of y: 0 or 1
};

// The library picks its algorithm by the whole shape, rows included, and different algorithms may round
// differently. So the first algorithm without split K that it proposes for kYardstickRows sets the bits of a
// weight shape. For other row counts (in steps) the fastest proposal is used among those seen to give the
// same bits on random numbers. One caller at a time.
class Gemms {
 public:
  Gemms(std::shared_ptr<Queue> queue, Pool& pool);
  ~Gemms();
  Gemms(const Gemms&) = delete;
  Gemms& operator=(const Gemms&) = delete;

  // y ← x·Wᵀ + bias, or adds it to y. x and y are whole tensors or ranges of their rows.
  void run(const Tensor& x, const CudaLinear& w, Store store, const Tensor& y);

 private:
  using Key = std::tuple<Index, Index, DType, bool, Index>;  // inputs, outputs, type of y, bias, step of rows

  const cublasLtMatmulAlgo_t* choose(const CudaLinear& w, DType y_type, Index rows);
  std::optional<cublasLtMatmulAlgo_t> try_out(const CudaLinear& w, DType y_type, Index rows);
  std::vector<cublasLtMatmulAlgo_t> proposals(const CudaLinear& w, DType y_type, Index rows);
  bool same_bits(const Tensor& want, const Tensor& got);
  cublasLtMatmulAlgo_t fastest(std::span<const cublasLtMatmulAlgo_t> algorithms, const CudaLinear& w,
                               DType y_type, Index rows);
  Product product(const CudaLinear& w, const cublasLtMatmulAlgo_t& algorithm, const Tensor& x, Store store,
                  const Tensor& y) const;
  bool try_once(const CudaLinear& w, const cublasLtMatmulAlgo_t& algorithm, const Tensor& x, const Tensor& y);

  std::shared_ptr<Queue> queue_;
  Pool& pool_;
  cublasLtHandle_t handle_ = nullptr;
  std::shared_ptr<Buffer> workspace_;
  std::map<Key, std::optional<cublasLtMatmulAlgo_t>> chosen_;
};

}  // namespace buoy::cuda
