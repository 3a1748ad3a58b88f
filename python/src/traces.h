// Adds the class Trace, with its analyses and figures, and Model.trace, to the module.
#pragma once

#include <pybind11/pybind11.h>

namespace buoy::python {

void add_traces(pybind11::module_& module);

}  // namespace buoy::python
