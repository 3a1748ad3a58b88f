// buoy: one command, one verb per job.
#include <csignal>

#include <fcntl.h>

#include "apps/cli/run_command.h"

// Where a standard stream is closed, the first file that is opened would be it, and what is printed would go
// into that file. Opened the wrong way round, so that printing fails and says so.
static void open_standard_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) < 0)
      static_cast<void>(::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY));
  }
}

int main(int argc, char** argv) {
  open_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error to report, not a death
  return buoy::run_command({argv + 1, argv + argc});
}
