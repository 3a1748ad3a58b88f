// buoy._core: the engine for Python. What users see is written in Python, in python/buoy.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "apps/cli/run_command.h"
#include "buoy/base/version.h"
#include "python/src/errors.h"
#include "python/src/model.h"

PYBIND11_MODULE(_core, module) {
  namespace py = pybind11;
  module.doc() = "The engine. Import buoy instead: it says what everything means.";
  module.attr("__version__") = std::string(buoy::version());
  buoy::python::add_errors(module);
  buoy::python::add_model(module);
  module.def(
      "command",
      [](const std::vector<std::string>& arguments) {
        const py::gil_scoped_release no_gil;
        return buoy::run_command(arguments);
      },
      py::arg("arguments"));
}
