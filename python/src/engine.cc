#include "python/src/engine.h"

#include <chrono>

#include "buoy/base/error.h"
#include "python/src/errors.h"

namespace buoy::python {

void Turn::take() {
  std::unique_lock lock(mutex_);
  if (owner_ == std::this_thread::get_id())
    fail("the model is computing: a callback cannot use the model that calls it");
  constexpr std::chrono::milliseconds kBetweenSignals{50};
  while (!left_.wait_for(lock, kBetweenSignals, [&] { return owner_ == std::thread::id(); })) {
    lock.unlock();  // a handler may use the model, or end the run that has it
    raise_signals();
    lock.lock();
  }
  owner_ = std::this_thread::get_id();
}

void Turn::leave() {
  {
    const std::lock_guard lock(mutex_);
    owner_ = {};
  }
  left_.notify_one();
}

bool Turn::is_here() const {
  const std::lock_guard lock(mutex_);
  return owner_ == std::this_thread::get_id();
}

InUse::InUse(Engine& engine) : engine_(engine) {
  check_process();
  engine_.turn.take();
}

}  // namespace buoy::python
