// Shows long work on standard error and stops it on Ctrl-C.
#pragma once

#include <optional>
#include <string>

#include "apps/cli/progress.h"
#include "buoy/engine/run_observer.h"

namespace buoy {

class CommandObserver : public RunObserver {
 public:
  void begin(const std::string& phase, Index total) override;
  void advance(Index by) override;
  void end() override { bar_.reset(); }
  void note(const std::string& line) override;
  void warn(const std::string& line) override;
  bool cancelled() const override;

 private:
  std::optional<ProgressBar> bar_;
};

}  // namespace buoy
