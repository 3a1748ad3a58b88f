// buoy view and buoy serve: the explorer in a browser, of recorded runs and of models that run.
#include <cstdio>
#include <memory>
#include <thread>

#include <spawn.h>

#include "apps/cli/environment.h"
#include "apps/cli/model_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/serve/explorer.h"
#include "buoy/serve/http_server.h"
#include "buoy/serve/standalone_page.h"

extern char** environ;

namespace buoy {
namespace {

struct ServeFlags {
  ModelFlags device;
  std::vector<std::string> models, traces, tables;
  std::string host = "127.0.0.1", collections = "collections", html;
  int port = 0;
  Index prompt_tokens = ServeLimits{}.prompt_tokens, runs = ServeLimits{}.runs;
  bool open = false;
};

ExplorerSettings explorer_settings(const ServeFlags& flags) {
  ExplorerSettings settings{.traces = {flags.traces.begin(), flags.traces.end()},
                            .tables = {flags.tables.begin(), flags.tables.end()},
                            .models = flags.models,
                            .model = flags.device.settings(),
                            .collections = flags.collections,
                            .limits = {}};
  settings.limits.prompt_tokens = flags.prompt_tokens;
  settings.limits.runs = flags.runs;
  return settings;
}

void open_browser(const std::string& address) {
  const std::string program = "xdg-open";
  char* arguments[] = {const_cast<char*>(program.c_str()), const_cast<char*>(address.c_str()), nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0)
    print_warning("no browser could be opened; open the address yourself");
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

void serve_command(const ServeFlags& flags) {
  Explorer explorer(explorer_settings(flags));
  const ServeLimits limits;
  HttpServer server({.host = flags.host,
                     .port = flags.port,
                     .token = make_token(),
                     .body_bytes = limits.body_bytes,
                     .streams = limits.streams},
                    [&](const HttpRequest& request) { return explorer.answer(request); });
  if (!is_loopback(flags.host))
    print_warning("others on the network can read what is sent: the connection is not encrypted");
  const std::string address = server.address() + "/#token=" + server.token();
  std::printf("%s\n", address.c_str());
  std::fflush(stdout);
  print_note("Ctrl-C ends it; whoever has the address may look and run");
  if (flags.open) open_browser(address);
  std::thread listening([&] { server.run(); });
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  explorer.stop();
  server.stop();
  listening.join();
}

void run_flags(const ServeFlags& flags) {
  if (!flags.html.empty()) {
    write_file_atomically(flags.html, standalone_page(explorer_settings(flags)));
    std::printf("%s\n", flags.html.c_str());
    return;
  }
  watch_interrupts();
  serve_command(flags);
}

void add_shared(Verb& verb, ServeFlags& flags) {
  verb.option("--tables", &flags.tables, "CSV tables of a study or an analysis, or folders of them");
  verb.option("--collections", &flags.collections, "Folder of the collections that visitors make and ask");
  flags.device.add_device_to(verb);
  const std::string group = "Server";
  verb.option("--host", &flags.host, "Address to listen at").group(group);
  verb.option("--port", &flags.port, "Port; 0: any that is free").between(0, 65535).group(group);
  verb.flag("--open", &flags.open, "Open the browser").group(group);
  verb.option("--prompt-tokens", &flags.prompt_tokens, "The longest prompt that is run")
      .at_least(1)
      .group(group);
  verb.option("--runs", &flags.runs, "Runs under way at once").between(1, 1000).group(group);
}

constexpr const char* kSafety =
    "Listens at this machine only unless --host says otherwise; every request needs the token in the "
    "address. "
    "docs/explorer.md\nshows what can be seen and touched, docs/api.md what programs may ask.\n\n";

}  // namespace

void add_view(Command& command) {
  auto flags = std::make_shared<ServeFlags>();
  Verb verb = command.verb("view", "Look at recorded runs in a browser");
  verb.option("traces", &flags->traces, "Traces (buoy trace), or folders of them").required();
  verb.option("--html", &flags->html, "Write one page that needs no server instead, and end");
  verb.option(
      "-m,--model", &flags->models,
      "Models that visitors may run, and that recompute attention of their traces; may be repeated. The "
      "bundled ones are found without");
  add_shared(verb, *flags);
  verb.footer(std::string(kSafety) +
              "Examples:\n"
              "  buoy view traces\n"
              "  buoy view arm.npz mdm.npz --open\n"
              "  buoy view arm.npz --html arm.html\n"
              "  buoy view study/traces --tables study\n");
  verb.runs([flags] { run_flags(*flags); });
}

void add_serve(Command& command) {
  auto flags = std::make_shared<ServeFlags>();
  flags->models = {"mini-mdm", "mini-arm"};
  Verb verb = command.verb("serve", "Run models in a browser, step by step, and touch what they write");
  verb.option("-m,--model", &flags->models, "Models that visitors may run; may be repeated");
  verb.option("--trace", &flags->traces, "Traces to show beside them, or folders of them");
  add_shared(verb, *flags);
  verb.footer(std::string(kSafety) +
              "Examples:\n"
              "  buoy serve --open\n"
              "  buoy serve --model mini-mdm --collections my-documents\n"
              "  buoy serve --host 192.168.1.5 --port 8080 --model /models/LLaDA-8B-Instruct\n");
  verb.runs([flags] { run_flags(*flags); });
}

}  // namespace buoy
