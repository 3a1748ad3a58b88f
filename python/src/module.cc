// buoy._core: the engine for Python. What users see is written in Python, in python/buoy.
#include <pybind11/pybind11.h>

#include "buoy/base/version.h"
#include "python/src/attention.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/lab.h"
#include "python/src/model.h"
#include "python/src/traces.h"

PYBIND11_MODULE(_core, module) {
  namespace py = pybind11;
  module.doc() = "The engine. Import buoy instead: it says what everything means.";
  module.attr("__version__") = std::string(buoy::version());
  buoy::python::add_errors(module);
  module.def("stop_work", buoy::python::stop_work);
  module.def("wait_for_work", buoy::python::wait_for_work);
  buoy::python::add_model(module);
  buoy::python::add_traces(module);
  buoy::python::add_attention(module);
  buoy::python::add_lab(module);
}
