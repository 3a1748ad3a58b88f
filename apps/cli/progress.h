// A progress bar on standard error: done, rate, time left.
#pragma once

#include <chrono>
#include <string>

#include "buoy/base/types.h"

namespace buoy {

// "mini-mdm  [████████░░░░]  12/20  1.3/s  0:06 left". Pure, for tests.
std::string progress_line(const std::string& label, Index done, Index total, double seconds);

// On a terminal one line is redrawn; elsewhere a line is written every ten seconds and at the end.
class ProgressBar {
 public:
  ProgressBar(std::string label, Index total);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();  // leaves the line and starts a new one

  void advance(Index by = 1);

 private:
  void draw();

  std::string label_;
  Index total_, done_ = 0, shown_ = -1;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, drawn_;
};

}  // namespace buoy
