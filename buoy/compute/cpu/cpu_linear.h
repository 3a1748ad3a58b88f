// A projection on the cpu backend: weights in column panels, rows in tiles.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "buoy/base/thread_pool.h"
#include "buoy/compute/backend.h"
#include "buoy/compute/cpu/panel_matmul.h"

namespace buoy {

// Products by shape and type of weights, shared by all projections of a backend.
class PanelMatmuls {
 public:
  explicit PanelMatmuls(Instructions instructions) : instructions_(instructions) {}
  // How many bf16 a weight of this type is split into for AMX; 0: it goes to oneDNN, in float32.
  int amx_parts(DType weights) const;
  std::shared_ptr<const PanelMatmul> get(Index K, Index n, int amx_parts);

 private:
  Instructions instructions_;
  std::map<std::tuple<Index, Index, int>, std::shared_ptr<const PanelMatmul>> made_;
};

class CpuLinear : public Linear {
 public:
  // Packs at once for Widen::kOnce; for kAsUsed keeps the views and packs a panel whenever it is used.
  CpuLinear(std::span<const TensorView> weights, std::span<const TensorView> biases, Widen widen,
            PanelMatmuls& matmuls, ThreadPool& pool);

  Index inputs() const override { return K_; }
  Index outputs() const override { return outputs_; }

  // On all threads; `scratch` has one entry per thread.
  void run(const Tensor& x, Store store, const Tensor& y, ThreadPool& pool,
           std::vector<std::vector<std::byte>>& scratch) const;

  // On the calling thread alone. Only for weights that are packed.
  void run_here(const Tensor& x, Store store, const Tensor& y, std::vector<std::byte>& scratch) const;

  // Bytes of packed weights; 0 when they are packed as they are used.
  Index packed_bytes() const;

 private:
  struct Panel {
    Index first, n;  // outputs [first, first + n)
    std::shared_ptr<const PanelMatmul> matmul;
    Tensor packed;  // empty for kAsUsed
  };
  void widen_rows(Index first, Index count, float* to) const;
  void run_rows(const Panel& panel, const void* packed, const Tensor& x, Index first, Index last, Store store,
                const Tensor& y, std::byte* scratch) const;
  std::size_t scratch_bytes(const Panel& panel) const;

  Index K_ = 0, outputs_ = 0;
  std::vector<TensorView> parts_;
  std::vector<float> bias_;
  std::vector<Panel> panels_;
};

}  // namespace buoy
