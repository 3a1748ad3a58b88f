// Projections on cuBLASLt that give a row the same bits whatever stands beside it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "compute/backend.h"
#include "compute/cuda/cublas_lt.h"
#include "compute/cuda/memory.h"

namespace buoy::cuda {

// Weights on the card, rows one after the other, in the backend's type.
struct CudaLinear : Linear {
  Tensor weights;              // [out, in]
  Tensor bias_f32, bias_bf16;  // [1, out], or empty
  Index inputs() const override { return weights.cols(); }
  Index outputs() const override { return weights.rows(); }
};

// The library picks its algorithm by the whole shape, rows included, and different algorithms may round
// differently. So the first algorithm without split K that it proposes for kYardstickRows sets the bits of a
// weight shape. For other row counts (in steps) the fastest proposal is used among those seen to give the
// same bits on random numbers. One caller at a time.
class Gemms {
 public:
  Gemms(std::shared_ptr<Stream> stream, Pool& pool);
  ~Gemms();
  Gemms(const Gemms&) = delete;
  Gemms& operator=(const Gemms&) = delete;

  // y ← x·Wᵀ + bias, or adds it to y. x and y are whole tensors or ranges of their rows.
  void run(const Tensor& x, const CudaLinear& w, Store store, const Tensor& y);

 private:
  struct Call;
  using Key = std::tuple<Index, Index, DType, bool, Index>;  // inputs, outputs, type of y, bias, step of rows

  const cublasLtMatmulAlgo_t* choose(const CudaLinear& w, DType y_type, Index rows);
  std::optional<cublasLtMatmulAlgo_t> try_out(const CudaLinear& w, DType y_type, Index rows);
  std::vector<cublasLtMatmulAlgo_t> proposals(const Call& call);
  bool same_bits(const Tensor& want, const Tensor& got);
  cublasLtMatmulAlgo_t fastest(std::span<const cublasLtMatmulAlgo_t> algorithms, const CudaLinear& w,
                               DType y_type, Index rows);
  bool start(const Call& call, const cublasLtMatmulAlgo_t& algorithm, const Tensor& x, Store store,
             const Tensor& y);

  std::shared_ptr<Stream> stream_;
  Pool& pool_;
  cublasLtHandle_t handle_ = nullptr;
  std::shared_ptr<Buffer> workspace_;
  std::map<Key, std::optional<cublasLtMatmulAlgo_t>> chosen_;
};

}  // namespace buoy::cuda
