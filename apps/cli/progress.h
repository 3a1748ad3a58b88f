// A progress bar on standard error: done, rate, time left.
#pragma once

#include <chrono>
#include <string>

#include "buoy/base/types.h"

namespace buoy {

// How far work is; `already` of the `done` pieces were there when it began.
struct Progress {
  Index done = 0, total = 0, already = 0;
  double seconds = 0;
};

// "mini-mdm  [████████░░░░]  12/20  1.3/s  0:06 left", in at most `columns`: the bar shrinks, then goes, then
// the label is cut. Pure, for tests.
std::string progress_line(const std::string& label, const Progress& progress, int columns);

// On a terminal one line is redrawn; elsewhere a line is written every ten seconds and at the end.
class ProgressBar {
 public:
  ProgressBar(std::string label, Index total);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();  // leaves the line and starts a new one; elsewhere silent where the work failed

  void advance(Index by = 1);
  void already(Index count);  // were there before: no part of the pace

 private:
  void draw();

  std::string label_;
  Progress progress_;
  Index shown_ = -1;
  bool terminal_;
  int failures_;  // exceptions in flight when it began
  std::chrono::steady_clock::time_point start_, drawn_;
};

}  // namespace buoy
