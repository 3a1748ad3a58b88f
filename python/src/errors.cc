#include "python/src/errors.h"

#include <atomic>
#include <filesystem>

#include <unistd.h>

#include "buoy/base/cancel.h"
#include "buoy/base/error.h"
#include "python/src/gil.h"

namespace buoy::python {
namespace {

namespace py = pybind11;

struct Classes {
  py::object error, usage, cancelled, internal;
};

// Never destroyed: the interpreter is gone by then.
Classes& classes() {
  static auto* const made = new Classes;
  return *made;
}

// One line, whatever names it holds.
void raise(const py::object& kind, const std::string& what) {
  std::string line;
  for (const char c : what) {
    if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  PyErr_SetString(kind.ptr(), line.c_str());
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const UsageError& e) {
    raise(classes().usage, e.what());
  } catch (const Error& e) {
    raise(classes().error, e.what());
  } catch (const Cancelled& e) {
    raise(classes().cancelled, e.what());
  } catch (const InternalError& e) {
    const std::string line = fmt::format("this is a bug of Buoy's, please report it: {}", e.what());
    raise(classes().internal, line);
  } catch (const std::filesystem::filesystem_error& e) {
    const std::string line = fmt::format("{}: {}", e.path1().string(), e.code().message());
    raise(classes().error, line);
  }
}

}  // namespace

void add_errors(py::module_& module) {
  const auto add = [&](const char* name, const py::object& bases, const char* doc) {
    const std::string full = std::string("buoy.") + name;
    const py::object made =
        py::reinterpret_steal<py::object>(PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr));
    if (!made) throw py::error_already_set();
    module.attr(name) = made;
    return made;
  };
  const py::object runtime = py::reinterpret_borrow<py::object>(PyExc_RuntimeError),
                   value = py::reinterpret_borrow<py::object>(PyExc_ValueError);
  classes().error = add("Error", runtime, "Bad input or work that failed. One line: place, got, expected.");
  classes().usage = add("UsageError", py::make_tuple(classes().error, value),
                        "Something was asked for that makes no sense. Also a ValueError.");
  classes().cancelled = add("Cancelled", runtime, "The work was stopped before its end.");
  classes().internal = add("InternalError", runtime, "A bug of Buoy's own.");
  py::register_exception_translator(translate);
}

void check_process() {
  static std::atomic<pid_t> first = 0;
  pid_t none = 0;
  if (first.compare_exchange_strong(none, getpid()) || none == getpid()) return;
  fail(
      "process {} was forked from {}, which had computed with Buoy: start workers with spawn "
      "(multiprocessing.set_start_method(\"spawn\"))",
      getpid(), none);
}

void forbid_new(py::handle made_class) {
  reinterpret_cast<PyTypeObject*>(made_class.ptr())->tp_new = nullptr;
  PyType_Modified(reinterpret_cast<PyTypeObject*>(made_class.ptr()));
}

void raise_signals() {
  const WithGil gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace buoy::python
