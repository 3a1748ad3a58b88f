// How failures of the engine become Python exceptions, and how Python's own pass through the engine unharmed.
#pragma once

#include <pybind11/pybind11.h>

namespace buoy::python {

// Error, UsageError (an Error and a ValueError), Cancelled and InternalError of the module, each with the
// engine's one line. A file that cannot be reached is an Error, memory that is not there a MemoryError.
void add_errors(pybind11::module_& module);

// The process may compute: throws Error in a child that was forked from one that did. The threads of the
// engine do not survive a fork, and waiting for them would never end.
void check_process();

// Makes instances of a class a matter of this module: pybind11 would hand out one without anything inside to
// whoever calls __new__.
void forbid_new(pybind11::handle made_class);

// Raises what a signal handler of Python's raised (KeyboardInterrupt); takes the GIL for it. Nothing on
// threads that do not handle signals.
void raise_signals();

}  // namespace buoy::python
