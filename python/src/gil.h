// Work without Python's lock, and callbacks with it, that survive the interpreter's end: a thread that wants
// the lock back from an interpreter that is gone would be torn out of C++, which ends the process with an
// abort.
#pragma once

#include <pybind11/pybind11.h>

namespace buoy::python {

// Once the interpreter ends, a thread that comes here, or is through with its work, sleeps until the process
// is gone.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Throws Cancelled once the interpreter ends.
class WithGil {
 public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// Whether the interpreter ends: work of other threads than the one that ends it has no reader any more.
bool is_ending();

// Called with the GIL when the interpreter ends, before anything of it is gone: all work of other threads
// stops before its next pass. Waiting for that takes a minute at most.
void stop_work();
void wait_for_work();

}  // namespace buoy::python
