// For tests: notes every file that this process flushes to disk. Stands in for the C library's fsync and
// fdatasync, also where SQLite calls them; include it in one file of a test binary.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace buoy {

// Paths, as they were called when they were flushed, in that order.
class SyncedFiles {
 public:
  static void add(int descriptor) {
    char name[4096];
    const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", descriptor).c_str(), name, sizeof name);
    const std::lock_guard lock(mutex());
    paths().emplace_back(name, length > 0 ? static_cast<std::size_t>(length) : 0);
  }
  // Those since the last call.
  static std::vector<std::string> take() {
    const std::lock_guard lock(mutex());
    return std::exchange(paths(), {});
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::vector<std::string>& paths() {
    static std::vector<std::string> all;
    return all;
  }
};

}  // namespace buoy

extern "C" int fsync(int descriptor) {
  buoy::SyncedFiles::add(descriptor);
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

extern "C" int fdatasync(int descriptor) {
  buoy::SyncedFiles::add(descriptor);
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}
