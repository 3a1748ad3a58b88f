// Adds attention() over foreign memory (DLPack) to the module.
#pragma once

#include <pybind11/pybind11.h>

namespace buoy::python {

void add_attention(pybind11::module_& module);

}  // namespace buoy::python
