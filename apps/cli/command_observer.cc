#include "apps/cli/command_observer.h"

#include "apps/cli/environment.h"

namespace buoy {

void CommandObserver::begin(const std::string& phase, Index total) {
  bar_.reset();
  bar_.emplace(phase, total);
}

void CommandObserver::advance(Index by) {
  if (bar_) bar_->advance(by);
}

void CommandObserver::already(Index count) {
  if (bar_) bar_->already(count);
}

void CommandObserver::note(const std::string& line) {
  bar_.reset();
  print_note(line);
}

void CommandObserver::warn(const std::string& line) {
  bar_.reset();
  print_warning(line);
}

bool CommandObserver::cancelled() const {
  return interrupted();
}

}  // namespace buoy
