// A fixed set of threads that share out numbered tasks.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// Hardware threads this process may run on (respects affinity masks and cgroup cpusets); at least 1.
int available_threads();

// Runs loops of independent tasks. One caller at a time; tasks must not call back into the pool.
class ThreadPool {
 public:
  // The calling thread counts as one: `threads` = 1 starts none. Throws Error unless threads >= 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(task, thread) once for every task in [0, tasks) and returns when all are done. Which thread
  // gets which task is not fixed, so tasks write to places of their own. The first exception is rethrown
  // here.
  void run(Index tasks, const std::function<void(Index task, int thread)>& body);

 private:
  void work(int thread);
  void take_tasks(int thread);

  std::vector<std::thread> workers_;
  const std::function<void(Index, int)>* body_ = nullptr;
  Index tasks_ = 0;
  std::atomic<Index> next_{0};
  std::atomic<int> busy_{0};
  std::atomic<std::uint32_t> round_{0};
  std::atomic<bool> stop_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace buoy
