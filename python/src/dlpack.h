// DLPack's structures, as its specification lays them out in memory, and a tensor taken from a capsule.
#pragma once

#include <cstdint>
#include <string>

#include <pybind11/pybind11.h>

#include "buoy/base/types.h"

namespace buoy::python {

enum class DlDevice : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3 };

struct DlTensor {
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t ndim;
  std::uint8_t type_code, type_bits;  // codes: 0 signed, 1 unsigned, 2 float, 4 bfloat
  std::uint16_t type_lanes;
  std::int64_t *shape, *strides;  // strides may be null: row-major
  std::uint64_t byte_offset;
};

struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor* self);
};

// What a capsule held, until this goes. The capsule is used up, as the protocol has it.
class DlView {
 public:
  // `given` is a capsule, or has __dlpack__. `stream`: None, or what __dlpack__ is told. Throws UsageError
  // naming `what` for anything else.
  DlView(pybind11::handle given, pybind11::handle stream, const std::string& what);
  DlView(DlView&& other) noexcept : managed_(std::exchange(other.managed_, nullptr)) {}
  DlView& operator=(DlView&&) = delete;
  ~DlView() {
    if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
  }

  const DlTensor& tensor() const { return managed_->tensor; }
  Shape shape() const { return {tensor().shape, tensor().shape + tensor().ndim}; }
  void* data() const { return static_cast<char*>(tensor().data) + tensor().byte_offset; }
  bool is_row_major() const;
  // Throws UsageError unless it is float32 or bfloat16.
  DType dtype(const std::string& what) const;

 private:
  DlManagedTensor* managed_ = nullptr;
};

}  // namespace buoy::python
