#include "python/src/engine.h"

#include <algorithm>
#include <chrono>

#include "buoy/base/error.h"
#include "buoy/engine/tracing_model.h"
#include "python/src/errors.h"

namespace buoy::python {

void Turn::take() {
  const Thread me = PyThread_get_thread_ident();
  std::unique_lock lock(mutex_);
  if (holder_ == me) fail("the model is computing: a callback cannot use the model that calls it");
  line_.push_back(me);
  const auto step_out = [&] {
    line_.erase(std::ranges::find(line_, me));
    moved_.notify_all();
  };
  constexpr std::chrono::milliseconds kBetweenSignals{50};
  while (!moved_.wait_for(lock, kBetweenSignals, [&] { return holder_ == 0 && line_.front() == me; })) {
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
  holder_ = me;
}

void Turn::leave() {
  if (!is_here()) return;  // it was given away between two steps, and the end came before it was back
  {
    const std::lock_guard lock(mutex_);
    holder_ = 0;
  }
  moved_.notify_all();
}

std::optional<ChatTemplate> chat_of(const Engine& engine, Chat wanted,
                                    const std::optional<std::string>& date) {
  const std::string day = parse_date(date.value_or(std::string(kDefaultDate)));
  const auto found = choose_chat_template(engine.loaded->directory(), wanted, day);
  if (date) check_date({.date = day}, {&found, 1});
  return found;
}

InUse::InUse(Engine& engine) : engine_(engine) {
  check_process();
  engine_.turn.take();
}

}  // namespace buoy::python
