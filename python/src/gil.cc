#include "python/src/gil.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <pthread.h>

#include "buoy/base/cancel.h"

namespace buoy::python {
namespace {

// Threads that work without the lock, or wait for it, or have it for a callback. Whoever counts himself looks
// whether the end has begun only after that, and the end begins before it looks at the count.
std::atomic<int> at_work = 0;
std::atomic<bool> ending = false;
std::thread::id ended_by;  // written before `ending`

[[noreturn]] void sleep_until_the_end() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void begin() {
  // The threads that were counted are not there in a fork.
  static const int once = pthread_atfork(nullptr, nullptr, [] { at_work = 0; });
  static_cast<void>(once);
  ++at_work;
}

}  // namespace

bool is_ending() {
  return ending && ended_by != std::this_thread::get_id();
}

WithoutGil::WithoutGil() {
  begin();
  state_ = PyEval_SaveThread();
  if (!is_ending()) return;
  --at_work;
  sleep_until_the_end();
}

WithoutGil::~WithoutGil() {
  if (is_ending()) {
    --at_work;
    sleep_until_the_end();
  }
  PyEval_RestoreThread(state_);
  --at_work;
}

WithGil::WithGil() {
  begin();
  if (is_ending()) {
    --at_work;
    throw Cancelled();
  }
  state_ = PyGILState_Ensure();
}

WithGil::~WithGil() {
  PyGILState_Release(state_);
  --at_work;
}

void stop_work() {
  ended_by = std::this_thread::get_id();
  ending = true;
}

void wait_for_work() {
  PyThreadState* const state = PyEval_SaveThread();
  constexpr std::chrono::milliseconds kStep{1};
  constexpr int kMostSteps = 60'000;
  for (int i = 0; at_work > 0 && i < kMostSteps; ++i) std::this_thread::sleep_for(kStep);
  PyEval_RestoreThread(state);
}

}  // namespace buoy::python
