#include "python/src/engine.h"

#include <algorithm>
#include <chrono>

#include "buoy/base/error.h"
#include "python/src/errors.h"

namespace buoy::python {

void Turn::take() {
  const std::thread::id me = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  if (owner_ == me) fail("the model is computing: a callback cannot use the model that calls it");
  line_.push_back(me);
  const auto step_out = [&] {
    line_.erase(std::ranges::find(line_, me));
    moved_.notify_all();
  };
  constexpr std::chrono::milliseconds kBetweenSignals{50};
  while (!moved_.wait_for(lock, kBetweenSignals,
                          [&] { return owner_ == std::thread::id() && line_.front() == me; })) {
    lock.unlock();  // a handler may use the model, or end the run that has it
    try {
      raise_signals();
    } catch (...) {
      lock.lock();
      step_out();
      throw;
    }
    lock.lock();
  }
  step_out();
  owner_ = me;
}

void Turn::leave() {
  {
    const std::lock_guard lock(mutex_);
    owner_ = {};
  }
  moved_.notify_all();
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
