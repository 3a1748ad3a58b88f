#include "buoy/base/headroom.h"

#include <cstddef>
#include <system_error>
#include <thread>

#include <sys/mman.h>

#include "buoy/base/error.h"

namespace buoy {

void check_memory_left(Index mebibytes, std::string_view what) {
  const std::size_t bytes = static_cast<std::size_t>(mebibytes) << 20;
  void* room =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) fail("out of memory: {} needs {} MiB more", what, mebibytes);
  ::munmap(room, bytes);
}

void check_thread_left(std::string_view what) {
  try {
    std::thread([] {}).join();
  } catch (const std::system_error&) {
    fail("{} needs a thread, but the system starts no more", what);
  }
}

}  // namespace buoy
