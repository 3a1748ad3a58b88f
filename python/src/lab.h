// Adds the command, and the table of its verbs, to the module.
#pragma once

#include <pybind11/pybind11.h>

namespace buoy::python {

void add_lab(pybind11::module_& module);

}  // namespace buoy::python
