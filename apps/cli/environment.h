// What the command knows of its surroundings: the environment, the terminal, Ctrl-C. Libraries do not look.
#pragma once

#include <functional>
#include <string>

#include "buoy/engine/places.h"

namespace buoy {

// What lies beside the program, and the Hub's cache: HF_HUB_CACHE, else hub/ in HF_HOME, else in
// ~/.cache/huggingface.
Places command_places();

// Whether marks and colours may be written to standard output or error: a terminal that is not dumb, and no
// NO_COLOR (no-color.org) for colours.
bool can_redraw(int descriptor);
bool can_color(int descriptor);
struct WindowSize {
  int columns = 80, lines = 24;
};
WindowSize window_size(int descriptor);

// Exit code of a command that was stopped by Ctrl-C or SIGTERM.
inline constexpr int kInterrupted = 130;

// From here on the first Ctrl-C (or SIGTERM) asks the work to stop, the second ends the process.
void watch_interrupts();
bool interrupted();
// Throws Cancelled once Ctrl-C was pressed: for loops that may stop anywhere.
void stop_if_interrupted();
// Does work that asks interrupted() again and again. Where it is stopped, says so and what is left of it
// ("nothing was written"), and lets Cancelled go on.
void stoppable(const std::string& left, const std::function<void()>& work);

// Foreign text for standard output: as it is into a file or a pipe, through the gate for_terminal() on a
// terminal.
std::string for_output(const std::string& text);

// Prints "buoy: …" or "buoy: warning: …" on standard error; control characters are written out.
void print_note(const std::string& line);
void print_warning(const std::string& line);

}  // namespace buoy
