// buoy: one command, one verb per job. Exit codes: 0 done, 1 the work failed, 2 wrong usage.
#include <algorithm>
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

// "--gen_length" and "--gen-length" are the same flag; values stay as they are.
std::string normalise_flag(std::string argument) {
  if (!argument.starts_with("--")) return argument;
  const std::size_t end = std::min(argument.find('='), argument.size());
  std::replace(argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return argument;
}

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

int run(int argc, char** argv) {
  CLI::App app{"Buoy runs masked diffusion and autoregressive language models and watches their attention.",
               "buoy"};
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  buoy::add_generate(app);
  buoy::add_forward(app);
  buoy::add_tokenize(app);
  buoy::add_trace(app);
  buoy::add_analyze(app);
  buoy::add_study(app);
  buoy::add_eval(app);
  buoy::add_stress(app);
  buoy::add_intervene(app);
  buoy::add_index(app);
  buoy::add_export(app);
  buoy::add_inspect(app);
  buoy::Command command(app);
  buoy::add_attention(command);
  buoy::add_verify(command);
  buoy::add_world(app);
  buoy::add_bench(app);
  app.footer("Run \"buoy VERB --help\" for a verb's options and examples.");

  const auto is_first_argument = [&](const CLI::App* verb) { return verb->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && std::ranges::none_of(app.get_subcommands({}), is_first_argument)) {
    buoy::fail_usage("unknown verb \"{}\"; \"buoy --help\" lists them", argv[1]);
  }
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i)
    arguments.push_back(normalise_flag(argv[i]));  // CLI11 reads from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? 0 : kWrongUsage;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error to report, not a death
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) != 0 && errno != EPIPE) {  // a reader that has seen enough is no failure
      return complain("cannot write to standard output", kFailed);
    }
    return code;
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
