#include "apps/cli/environment.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include "buoy/base/cancel.h"
#include "buoy/text/terminal_text.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t interrupts = 0;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

fs::path hub_cache() {
  if (const auto cache = variable("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const auto home = variable("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
    return fs::path(cache) / "huggingface" / "hub";
  }
  if (const auto home = variable("HOME"); !home.empty()) {
    return fs::path(home) / ".cache" / "huggingface" / "hub";
  }
  return {};
}

void on_interrupt(int signal) {
  interrupts = interrupts + 1;
  if (interrupts > 1) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

Places command_places() {
  Places places = places_beside_program();
  places.hub_cache = hub_cache();
  return places;
}

bool can_redraw(int descriptor) {
  return isatty(descriptor) != 0 && variable("TERM") != "dumb";
}

bool can_color(int descriptor) {
  return can_redraw(descriptor) && variable("NO_COLOR").empty();
}

WindowSize window_size(int descriptor) {
  winsize size{};
  WindowSize found;
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col > 0) found.columns = size.ws_col;
    if (size.ws_row > 0) found.lines = size.ws_row;
  }
  return found;
}

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
  return interrupts > 0;
}

void stop_if_interrupted() {
  if (interrupted()) throw Cancelled();
}

void stoppable(const std::string& left, const std::function<void()>& work) {
  watch_interrupts();
  try {
    work();
  } catch (const Cancelled&) {
    print_note("stopped: " + left);
    throw;
  }
}

std::string for_output(const std::string& text) {
  return isatty(STDOUT_FILENO) != 0 ? for_terminal(text) : text;
}

void print_note(const std::string& line) {
  std::fprintf(stderr, "buoy: %s\n", for_message(line).c_str());
}

void print_warning(const std::string& line) {
  std::fprintf(stderr, "buoy: warning: %s\n", for_message(line).c_str());
}

}  // namespace buoy
