// Memory of the backends that compute on the host.
#pragma once

#include <memory>
#include <new>
#include <vector>

#include "buoy/compute/tensor.h"
#include "buoy/io/tensor_view.h"

namespace buoy {

// Vectors of whole cache lines: a SIMD load that straddles two lines costs twice.
template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  LineAllocator() = default;
  template <typename U>
  LineAllocator(const LineAllocator<U>& /*other*/) {
  }  // NOLINT(google-explicit-constructor): allocators convert

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, std::size_t /*n*/) { ::operator delete(p, kAlignment); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};
using AlignedFloats = std::vector<float, LineAllocator<float>>;

// Fresh memory, aligned to 64 bytes. Throws Error when there is none left.
Tensor allocate_on_host(Index rows, Index cols, DType dtype = DType::kF32);

// Keeps the memory of dropped tensors for the next ones of that size: a pass asks for the same few sizes
// again and again, and fresh pages cost more than the arithmetic on them. Keeps at most as much as was ever
// in use at once. Tensors may outlive the pool. Not for several threads.
class HostPool {
 public:
  HostPool();
  Tensor allocate(Index rows, Index cols);

 private:
  struct Shelf;
  std::shared_ptr<Shelf> shelf_;  // shared with the tensors, which put their memory back
};

// A tensor over bytes that live elsewhere, e.g. in a mapped file.
Tensor view_on_host(const TensorView& view);

// f32, f16 or bf16 elements as float32.
void widen(const void* from, DType dtype, Index count, float* to);

// [n] of any float type → [1, n] f32.
Tensor widen_vector(const TensorView& vector);

}  // namespace buoy
