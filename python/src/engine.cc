#include "python/src/engine.h"

#include "buoy/base/error.h"
#include "python/src/errors.h"

namespace buoy::python {

void Turn::take() {
  std::unique_lock lock(mutex_);
  if (owner_ == std::this_thread::get_id())
    fail("the model is computing: a callback cannot use the model that calls it");
  left_.wait(lock, [&] { return owner_ == std::thread::id(); });
  owner_ = std::this_thread::get_id();
}

void Turn::leave() {
  {
    const std::lock_guard lock(mutex_);
    owner_ = {};
  }
  left_.notify_one();
}

InUse::InUse(Engine& engine) : engine_(engine) {
  check_process();
  engine_.turn.take();
}

}  // namespace buoy::python
