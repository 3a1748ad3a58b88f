// A matrix that lives on a backend: a view of shared memory with a row stride.
#pragma once

#include <memory>

#include "buoy/base/types.h"

namespace buoy {

// Memory owned by a backend. Only code in compute/ may look at data().
class Buffer {
 public:
  virtual ~Buffer() = default;
  void* data() const { return data_; }

 protected:
  explicit Buffer(void* data) : data_(data) {}

 private:
  void* data_;
};

// [rows, cols], row-major, consecutive rows `stride` elements apart. Copies are views of the same memory
// (hence the shared_ptr: parts of a fused projection outlive the whole).
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<Buffer> buffer, DType dtype, Index rows, Index cols);

  DType dtype() const { return dtype_; }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index stride() const { return stride_; }
  bool empty() const { return rows_ == 0 || cols_ == 0; }

  // Views of a range; they share memory with this tensor. Out of range is a bug (check()).
  Tensor row_range(Index begin, Index count) const;
  Tensor col_range(Index begin, Index count) const;

  // First element of a row. For code in compute/ only.
  template <typename T>
  T* row(Index r) const {
    return static_cast<T*>(buffer_->data()) + offset_ + r * stride_;
  }

 private:
  std::shared_ptr<Buffer> buffer_;
  DType dtype_ = DType::kF32;
  Index rows_ = 0, cols_ = 0, stride_ = 0, offset_ = 0;
};

}  // namespace buoy
