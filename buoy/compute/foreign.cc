#include "buoy/compute/foreign.h"

#include <memory>

namespace buoy {
namespace {

class ForeignBuffer : public Buffer {
 public:
  explicit ForeignBuffer(void* data) : Buffer(data) {}
};

}  // namespace

Tensor view_foreign(void* data, DType dtype, Index rows, Index cols) {
  return {std::make_shared<ForeignBuffer>(data), dtype, rows, cols};
}

}  // namespace buoy
