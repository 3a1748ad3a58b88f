#include "buoy/compute/tensor.h"

#include <utility>

#include "buoy/base/error.h"

namespace buoy {

Tensor::Tensor(std::shared_ptr<Buffer> buffer, DType dtype, Index rows, Index cols)
    : buffer_(std::move(buffer)), dtype_(dtype), rows_(rows), cols_(cols), stride_(cols) {}

Tensor Tensor::row_range(Index begin, Index count) const {
  check(begin >= 0 && count >= 0 && begin + count <= rows_, "row range lies inside the tensor");
  Tensor view = *this;
  view.offset_ += begin * stride_;
  view.rows_ = count;
  return view;
}

Tensor Tensor::col_range(Index begin, Index count) const {
  check(begin >= 0 && count >= 0 && begin + count <= cols_, "column range lies inside the tensor");
  Tensor view = *this;
  view.offset_ += begin;
  view.cols_ = count;
  return view;
}

}  // namespace buoy
