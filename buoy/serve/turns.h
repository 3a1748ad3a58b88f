// A line to stand in: whoever came first is served first, one at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace buoy {

// Any thread. Who leaves and enters again stands behind all who wait.
class TurnLine {
 public:
  void enter() {
    std::unique_lock lock(mutex_);
    const std::uint64_t ticket = next_++;
    moved_.wait(lock, [&] { return serving_ == ticket; });
  }
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      ++serving_;
    }
    moved_.notify_all();
  }
  // How many stand in line, the one that is served included.
  std::uint64_t length() const {
    const std::lock_guard lock(mutex_);
    return next_ - serving_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t next_ = 0, serving_ = 0;
};

// One's turn, until it is given back or destroyed.
class Turn {
 public:
  explicit Turn(TurnLine& line) : line_(line) { take(); }
  ~Turn() { give_back(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void take() {
    if (!mine_) line_.enter();
    mine_ = true;
  }
  void give_back() {
    if (mine_) line_.leave();
    mine_ = false;
  }

 private:
  TurnLine& line_;
  bool mine_ = false;
};

}  // namespace buoy
