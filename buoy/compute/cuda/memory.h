// Memory of the card: a pool for activations, buffers for weights, and the ways in and out.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "buoy/compute/cuda/pinned.h"
#include "buoy/compute/cuda/queue.h"
#include "buoy/compute/tensor.h"
#include "buoy/io/tensor_view.h"

namespace buoy::cuda {

// Memory for tensors that come and go, in the order of the queue: what is dropped may be handed out again at
// once, because later work runs later. A size that was dropped is kept for the next of that size: passes of
// one shape find their tensors where they were, and so are the same work. Tensors may outlive it. One caller
// at a time.
class Pool {
 public:
  explicit Pool(std::shared_ptr<Queue> queue);
  std::shared_ptr<Buffer> allocate(Index bytes);
  Tensor allocate(Index rows, Index cols, DType dtype);
  Index take_peak_bytes();

 private:
  struct Home;
  std::shared_ptr<Home> home_;  // shared with the buffers, which go back to it
};

// Memory that stays: weights. Work of `user` that stands in line is started before it goes.
std::shared_ptr<Buffer> allocate_for_good(Index bytes, std::shared_ptr<Queue> user = nullptr);

// The first element of a tensor of any type.
inline void* address(const Tensor& tensor) {
  return size_of(tensor.dtype()) == 2 ? static_cast<void*>(tensor.row<std::uint16_t>(0))
                                      : tensor.row<float>(0);
}

// A tensor's values as float32, rows one after the other. Waits for them.
void download(const Tensor& from, std::span<float> to, Pool& pool, Queue& queue);

// Copies weights to the card in chunks, reading the file while the chunk before travels, and converts them.
class WeightLoader {
 public:
  explicit WeightLoader(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
  // Elements of `from` as `dtype` at device address `to`.
  void load(const TensorView& from, DType dtype, void* to);

 private:
  static constexpr Index kChunk = Index{16} << 20;  // bytes
  std::shared_ptr<Queue> queue_;
  std::array<PinnedMemory, 2> host_;
  std::array<Event, 2> sent_;
  std::array<std::shared_ptr<Buffer>, 2> raw_;
  std::size_t next_ = 0;
};

}  // namespace buoy::cuda
