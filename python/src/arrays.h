// Arrays to and from Python: what the engine made is handed over without a copy.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "buoy/base/types.h"

namespace buoy::python {

// A NumPy array that owns what the vector held. The GIL is held.
template <typename T, class Allocator>
pybind11::array_t<T> to_array(std::vector<T, Allocator>&& values, const Shape& shape) {
  auto* const kept = new std::vector<T, Allocator>(std::move(values));
  const pybind11::capsule owner(kept,
                                [](void* vector) { delete static_cast<std::vector<T, Allocator>*>(vector); });
  return pybind11::array_t<T>(shape, kept->data(), owner);
}

// A view of what `owner` keeps alive; it cannot be written through.
template <typename T>
pybind11::array_t<T> view_array(std::span<const T> values, const Shape& shape, pybind11::handle owner) {
  pybind11::array_t<T> made(shape, values.data(), owner);
  made.attr("setflags")(pybind11::arg("write") = false);
  return made;
}

// One dimension of integers: a list, a NumPy array, anything that speaks DLPack. `what` names it in errors.
// Throws UsageError for other shapes and types, and for numbers that are no int32.
std::vector<TokenId> ids_from(pybind11::handle given, const std::string& what);

// One dimension of `size` floats, or, where `rows` is not 0, `rows` × `size` of them. Throws UsageError for
// other shapes and types, NaN, and infinities but -inf where that has a meaning.
enum class MinusInfinity { kNo, kYes };
std::vector<float> floats_from(pybind11::handle given, const std::string& what, MinusInfinity minus,
                               Index size, Index rows = 0);

// Plain values (None, bool, int, float, str, list, dict) as JSON text, and back.
std::string to_json_text(pybind11::handle given);
pybind11::object from_json_text(const std::string& text);

}  // namespace buoy::python
