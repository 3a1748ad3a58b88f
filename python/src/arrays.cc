#include "python/src/arrays.h"

#include <cmath>
#include <limits>

#include "buoy/base/error.h"

namespace buoy::python {
namespace {

namespace py = pybind11;

std::string shape_of(const py::array& array) {
  return to_string(Shape(array.shape(), array.shape() + array.ndim()));
}

// As a NumPy array, without a copy where it is in the host's memory already.
py::array as_array(py::handle given, const std::string& what) {
  const py::module_ numpy = py::module_::import("numpy");
  if (py::isinstance<py::array>(given)) return py::reinterpret_borrow<py::array>(given);
  try {
    if (py::hasattr(given, "__dlpack__")) return numpy.attr("from_dlpack")(given);
    return numpy.attr("asarray")(given);
  } catch (const py::error_already_set& e) {
    if (!e.matches(PyExc_Exception)) throw;
    fail_usage("{}: cannot be read as an array: {}", what, std::string(py::str(e.value())));
  }
}

}  // namespace

std::vector<TokenId> ids_from(py::handle given, const std::string& what) {
  if (py::isinstance<py::str>(given) || py::isinstance<py::bytes>(given) || PyByteArray_Check(given.ptr()))
    fail_usage("{}: got text, expected token ids", what);
  const py::array array = as_array(given, what);
  const char kind = array.dtype().kind();
  if (array.ndim() == 0 && kind == 'O')  // what NumPy makes of things that are no sequence
    fail_usage("{}: got {}, expected token ids", what, Py_TYPE(given.ptr())->tp_name);
  if (array.ndim() != 1) fail_usage("{}: got shape {}, expected one dimension", what, shape_of(array));
  if (array.size() == 0) return {};
  if (kind != 'i' && kind != 'u')
    fail_usage("{}: got {}, expected integers", what, std::string(py::str(array.dtype())));
  if (kind == 'u' && array.itemsize() == 8) fail_usage("{}: got uint64, expected int32 or int64", what);
  const auto wide = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>(array);
  std::vector<TokenId> ids;
  ids.reserve(static_cast<std::size_t>(wide.size()));
  for (py::ssize_t i = 0; i < wide.size(); ++i) {
    const std::int64_t id = wide.data()[i];
    if (id < 0 || id > std::numeric_limits<TokenId>::max())
      fail_usage("{}: {} at {} is no token id", what, id, i);
    ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

std::vector<float> floats_from(py::handle given, const std::string& what, MinusInfinity minus, Index size,
                               Index rows) {
  const py::array array = as_array(given, what);
  const char kind = array.dtype().kind();
  if (kind != 'f' && kind != 'i' && kind != 'u')
    fail_usage("{}: got {}, expected numbers", what, std::string(py::str(array.dtype())));
  const bool flat = array.ndim() == 1 && array.shape(0) == size;
  const bool deep = rows > 0 && array.ndim() == 2 && array.shape(0) == rows && array.shape(1) == size;
  if (!flat && !deep) {
    fail_usage("{}: got shape {}, expected [{}]{}", what, shape_of(array), size,
               rows > 0 ? fmt::format(" or [{},{}]", rows, size) : "");
  }
  const auto values = py::array_t<float, py::array::c_style | py::array::forcecast>(array);
  std::vector<float> made(values.data(), values.data() + values.size());
  for (const float value : made) {
    if (std::isnan(value)) fail_usage("{}: holds NaN", what);
    if (std::isinf(value) && (value > 0 || minus == MinusInfinity::kNo)) {
      fail_usage("{}: holds {}inf, expected numbers{}", what, value > 0 ? "+" : "-",
                 minus == MinusInfinity::kYes ? " or -inf" : "");
    }
  }
  return made;
}

std::string to_json_text(py::handle given) {
  return py::str(py::module_::import("json").attr("dumps")(given));
}

py::object from_json_text(const std::string& text) {
  return py::module_::import("json").attr("loads")(text);
}

}  // namespace buoy::python
