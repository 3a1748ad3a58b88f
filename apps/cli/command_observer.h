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
  void already(Index count) override;
  void end() override { bar_.reset(); }
  void kept(const std::string& what) override { kept_ = what; }
  void note(const std::string& line) override;
  void warn(const std::string& line) override;
  bool cancelled() const override;

  // The last of what was kept; empty: nothing.
  const std::string& all_kept() const { return kept_; }

 private:
  std::optional<ProgressBar> bar_;
  std::string kept_;
};

}  // namespace buoy
