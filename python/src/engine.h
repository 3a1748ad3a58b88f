// A loaded model as Python sees it: used by one thread at a time, whoever calls.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <pybind11/pybind11.h>

#include "buoy/engine/loaded_model.h"

namespace buoy::python {

// Who computes with a model. Others wait in line, without the GIL; whoever has it already (a callback of its
// own run) is refused instead of waiting for itself.
class Turn {
 public:
  using Thread = unsigned long;  // as Python numbers them

  // Throws Error on the thread that has it, and what Python's signal handlers raise while it waits: Ctrl-C
  // ends the waiting.
  void take();
  void leave();
  bool is_here() const { return holder_ == PyThread_get_thread_ident(); }
  Thread holder() const { return holder_; }  // 0: nobody

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::deque<Thread> line_;  // who waits: a thread that computes again and again stands behind the others
  std::atomic<Thread> holder_ = 0;
};

struct Engine {
  std::shared_ptr<const LoadedModel> loaded;
  Turn turn;
};

// The chat template, where it is wanted. Throws UsageError for a day (see parse_date()) that it does not ask
// for.
std::optional<ChatTemplate> chat_of(const Engine& engine, Chat wanted,
                                    const std::optional<std::string>& date);

// The model while work goes on. Made and destroyed without the GIL.
class InUse {
 public:
  explicit InUse(Engine& engine);
  ~InUse() { engine_.turn.leave(); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  Engine& engine_;
};

}  // namespace buoy::python
