// buoy: one command, one verb per job. Exit codes: 0 done, 1 the work failed, 2 wrong usage, 130 stopped by
// Ctrl-C.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "apps/cli/verb.h"
#include "buoy/base/cancel.h"
#include "buoy/base/error.h"
#include "buoy/base/version.h"
#include "buoy/compute/backend.h"
#include "buoy/compute/card.h"

namespace {

constexpr int kFailed = 1, kWrongUsage = 2, kInterrupted = 130;

// "buoy 0.1.0", then commit, compiler and where it can compute.
std::string version_text() {
  std::string backends = "reference";
  if (buoy::has_cpu_backend()) backends += ", cpu";
  if (const auto problem = buoy::cuda_problem()) {
    backends += fmt::format("; no cuda: {}", *problem);
  } else {
    backends += fmt::format(", cuda ({})", buoy::find_card()->name);
  }
  const std::string_view commit = buoy::commit();
  return fmt::format("buoy {}\ncommit    {}\ncompiler  {}\nbackends  {}", buoy::version(),
                     commit.empty() ? "unknown" : commit, buoy::compiler(), backends);
}

int complain(const char* message, int code) {
  std::fprintf(stderr, "buoy: %s\n", message);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error to report, not a death
  try {
    buoy::Command command(
        "buoy", "Buoy runs masked diffusion and autoregressive language models and watches their attention.",
        version_text);
    buoy::add_verbs(command);
    command.run(std::vector<std::string>(argv + 1, argv + argc));
    if (std::fflush(stdout) != 0 && errno != EPIPE) {  // a reader that has seen enough is no failure
      return complain("cannot write to standard output", kFailed);
    }
    return 0;
  } catch (const buoy::Cancelled&) {
    return kInterrupted;
  } catch (const buoy::UsageError& e) {
    return complain(e.what(), kWrongUsage);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const std::exception& e) {
    return complain(e.what(), kFailed);
  }
}
