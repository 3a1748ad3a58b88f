// Memory of the card: a pool for activations, buffers for weights, and the ways in and out.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "compute/cuda/device.h"
#include "compute/tensor.h"
#include "io/tensor_view.h"

namespace buoy::cuda {

// Memory for tensors that come and go, in the order of one stream: what is dropped may be handed out again at
// once, because later work runs later. Tensors may outlive it. One caller at a time.
class Pool {
 public:
  explicit Pool(std::shared_ptr<Stream> stream);
  std::shared_ptr<Buffer> allocate(Index bytes);
  Tensor allocate(Index rows, Index cols, DType dtype);
  Index take_peak_bytes();

 private:
  struct Home;
  std::shared_ptr<Home> home_;  // shared with the buffers, which go back to it
};

// Memory that stays: weights and statistics.
std::shared_ptr<Buffer> allocate_for_good(Index bytes);

// Host memory the card reads and writes by itself.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { cudaFreeHost(data_); }
  // At least `bytes`; what was there is lost when it grows.
  std::byte* reserve(Index bytes);

 private:
  std::byte* data_ = nullptr;
  Index size_ = 0;
};

// Sends small arrays (ids, positions, plans) to the card. A pass sends the same few again in every layer, so
// what is still there is not sent twice. What get() returns is good for work started before the next
// kSlots different uploads.
class Uploads {
 public:
  explicit Uploads(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}

  template <typename T>
  const T* get(std::span<const T> values) {
    return static_cast<const T*>(get_bytes(std::as_bytes(values)));
  }
  const void* get_bytes(std::span<const std::byte> bytes);

 private:
  static constexpr std::size_t kSlots = 8;
  struct Slot {
    std::vector<std::byte> content;
    PinnedMemory host;
    std::shared_ptr<Buffer> device;
    Index capacity = 0;
    Index used = 0;  // when last asked for
    Event sent;
  };
  std::shared_ptr<Stream> stream_;
  std::array<Slot, kSlots> slots_;
  Index clock_ = 0;
};

// The first element of a tensor of any type.
inline void* address(const Tensor& tensor) {
  return size_of(tensor.dtype()) == 2 ? static_cast<void*>(tensor.row<std::uint16_t>(0))
                                      : tensor.row<float>(0);
}

// A tensor's values as float32, rows one after the other. Waits for them.
void download(const Tensor& from, std::span<float> to, Pool& pool, const Stream& stream);

// Copies weights to the card in chunks, reading the file while the chunk before travels, and converts them.
class WeightLoader {
 public:
  explicit WeightLoader(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  // Elements of `from` as `dtype` at device address `to`.
  void load(const TensorView& from, DType dtype, void* to);

 private:
  static constexpr Index kChunk = Index{16} << 20;  // bytes
  std::shared_ptr<Stream> stream_;
  std::array<PinnedMemory, 2> host_;
  std::array<Event, 2> sent_;
  std::array<std::shared_ptr<Buffer>, 2> raw_;
  std::size_t next_ = 0;
};

}  // namespace buoy::cuda
