#include "python/src/dlpack.h"

#include <algorithm>

#include "buoy/base/error.h"

namespace buoy::python {

namespace py = pybind11;

DlView::DlView(py::handle given, py::handle stream, const std::string& what) {
  py::object capsule = py::reinterpret_borrow<py::object>(given);
  if (!PyCapsule_CheckExact(given.ptr())) {
    if (!py::hasattr(given, "__dlpack__"))
      fail_usage("{}: got {}, expected a tensor that speaks DLPack", what,
                 std::string(py::str(py::type::of(given))));
    capsule =
        stream.is_none() ? given.attr("__dlpack__")() : given.attr("__dlpack__")(py::arg("stream") = stream);
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor") == 0) {
    const bool used = PyCapsule_IsValid(capsule.ptr(), "used_dltensor") != 0;
    fail_usage("{}: got {}, expected a DLPack capsule \"dltensor\"", what,
               used ? "a capsule that was used before" : "another kind of capsule");
  }
  auto* const managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  // Looked at before it is taken over: until then the capsule itself sees to what it holds.
  const DlTensor& t = managed->tensor;
  constexpr int kMostDimensions = 32;  // as NumPy has it; the sizes of more were never written
  if (t.ndim < 0 || t.ndim > kMostDimensions || (t.ndim > 0 && t.shape == nullptr))
    fail_usage("{}: has {} dimensions, expected at most {}", what, t.ndim, kMostDimensions);
  const Shape sizes(t.shape, t.shape + t.ndim);
  if (t.data == nullptr && std::ranges::all_of(sizes, [](Index size) { return size > 0; }))
    fail_usage("{}: its memory was freed", what);
  managed_ = managed;
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  PyCapsule_SetDestructor(capsule.ptr(), nullptr);
}

bool DlView::is_row_major() const {
  const DlTensor& t = tensor();
  if (t.strides == nullptr) return true;
  std::int64_t expected = 1;
  for (std::int32_t i = t.ndim - 1; i >= 0; --i) {
    if (t.shape[i] != 1 && t.strides[i] != expected) return false;
    expected *= t.shape[i];
  }
  return true;
}

DType DlView::dtype(const std::string& what) const {
  const DlTensor& t = tensor();
  constexpr int kFloat = 2, kBfloat = 4;
  if (t.type_lanes == 1 && t.type_code == kFloat && t.type_bits == 32) return DType::kF32;
  if (t.type_lanes == 1 && t.type_code == kBfloat && t.type_bits == 16) return DType::kBf16;
  fail_usage("{}: has elements of type {} with {} bits, expected float32 or bfloat16", what, int{t.type_code},
             int{t.type_bits});
}

}  // namespace buoy::python
