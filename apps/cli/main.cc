// buoy: one command, one verb per job.
#include <csignal>

#include "apps/cli/run_command.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error to report, not a death
  return buoy::run_command({argv + 1, argv + argc});
}
