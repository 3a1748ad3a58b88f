#include "buoy/base/thread_pool.h"

#include <system_error>
#include <utility>

#include <sched.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

// A layer is a dozen loops of about 100 µs: sleeping between them would cost as much as the work. So waiters
// spin for about that long before they give the core back.
constexpr int kSpins = 4000;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

template <typename T>
T wait_while_equal(std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    const T now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    pause_briefly();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

void end_workers(std::atomic<bool>& stop, std::atomic<std::uint32_t>& round,
                 std::vector<std::thread>& workers) {
  stop.store(true);
  round.fetch_add(1);
  round.notify_all();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    const int count = CPU_COUNT(&set);
    if (count > 0) return count;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) {
  if (threads < 1) fail_usage("threads is {}, expected at least 1", threads);
  workers_.reserve(static_cast<std::size_t>(threads - 1));
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& e) {  // a limit of the system: those that were started must end first
    const std::size_t started = workers_.size() + 1;
    end_workers(stop_, round_, workers_);
    fail("threads is {}, but the system starts no more than {}: {}", threads, started, e.code().message());
  }
}

ThreadPool::~ThreadPool() {
  end_workers(stop_, round_, workers_);
}

void ThreadPool::run(Index tasks, const std::function<void(Index, int)>& body) {
  if (tasks <= 0) return;
  body_ = &body;
  tasks_ = tasks;
  next_.store(0, std::memory_order_relaxed);
  if (tasks > 1 && !workers_.empty()) {
    busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    take_tasks(0);
    for (int left = busy_.load(std::memory_order_acquire); left != 0;) left = wait_while_equal(busy_, left);
  } else {
    take_tasks(0);
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::work(int thread) {
  std::uint32_t seen = 0;
  while (true) {
    seen = wait_while_equal(round_, seen);
    if (stop_.load()) return;
    take_tasks(thread);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

void ThreadPool::take_tasks(int thread) {
  while (true) {
    const Index task = next_.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks_) return;
    try {
      (*body_)(task, thread);
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
}

}  // namespace buoy
