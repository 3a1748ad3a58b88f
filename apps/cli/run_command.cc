#include "apps/cli/run_command.h"

#include <cstdio>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "apps/cli/environment.h"
#include "apps/cli/options.h"
#include "apps/cli/verb.h"
#include "buoy/base/cancel.h"
#include "buoy/base/error.h"
#include "buoy/base/version.h"
#include "buoy/compute/backend.h"
#include "buoy/compute/card.h"
#include "buoy/text/terminal_text.h"

namespace buoy {
namespace {

constexpr int kFailed = 1, kWrongUsage = 2;

// "buoy 0.1.0", then commit, compiler and where it can compute.
std::string version_text() {
  std::string backends = "reference";
  if (has_cpu_backend()) backends += ", cpu";
  if (const auto problem = cuda_problem()) {
    backends += fmt::format("; no cuda: {}", *problem);
  } else {
    backends += fmt::format(", cuda ({})", find_card()->name);
  }
  const std::string_view made_from = commit();
  return fmt::format("buoy {}\ncommit    {}\ncompiler  {}\nbackends  {}", version(),
                     made_from.empty() ? "unknown" : made_from, compiler(), backends);
}

int complain(const std::string& message, int code) {
  std::fprintf(stderr, "buoy: %s\n", for_message(message).c_str());
  return code;
}

// With less the libraries end in a segmentation fault, and so do threads, whose stacks are as large.
constexpr rlim_t kLeastStack = rlim_t{1} << 20;

bool has_little_stack() {
  rlimit limit{};
  return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kLeastStack;
}

// Whether everything arrived. A reader that has seen enough is no failure.
bool output_arrived() {
  const bool flushed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  const bool reader_left = poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
  return flushed || reader_left;
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  if (has_little_stack()) return complain("the limit of the stack is below 1 MiB (ulimit -s)", kFailed);
  try {
    Command command(
        "buoy", "Buoy runs masked diffusion and autoregressive language models and watches their attention.",
        version_text);
    add_verbs(command);
    command.run(arguments);
    if (!output_arrived()) return complain("cannot write to standard output", kFailed);
    return 0;
  } catch (const Cancelled&) {
    return kInterrupted;
  } catch (const UsageError& e) {
    return complain(e.what(), kWrongUsage);
  } catch (const Error& e) {
    return complain(e.what(), kFailed);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const std::length_error&) {
    return complain("out of memory: something is larger than can be addressed", kFailed);
  } catch (const std::filesystem::filesystem_error& e) {
    return complain(fmt::format("{}: {}", e.path1().string(), e.code().message()), kFailed);
  } catch (const std::system_error& e) {
    return complain(fmt::format("the system refused a thread or a file: {}", e.code().message()), kFailed);
  } catch (const std::exception& e) {
    return complain(fmt::format("this is a bug of Buoy's, please report it: {}", e.what()), kFailed);
  }
}

}  // namespace buoy
