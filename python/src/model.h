// Adds the class Model, and Stop, to the module.
#pragma once

#include <pybind11/pybind11.h>

namespace buoy::python {

void add_model(pybind11::module_& module);

}  // namespace buoy::python
