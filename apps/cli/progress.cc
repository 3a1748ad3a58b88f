#include "apps/cli/progress.h"

#include <algorithm>
#include <cstdio>
#include <exception>

#include <fmt/format.h>
#include <unistd.h>

#include "apps/cli/environment.h"
#include "buoy/text/terminal_text.h"

namespace buoy {
namespace {

std::string clock_text(double seconds) {
  const auto s = static_cast<Index>(seconds + 0.5);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

std::string progress_line(const std::string& label, const Progress& progress, int columns) {
  const auto [done, total, already, seconds] = progress;
  std::string numbers = fmt::format("  {}/{}", done, total);
  if (done > already && seconds > 0) {
    const double rate = static_cast<double>(done - already) / seconds;
    numbers += rate < 100 ? fmt::format("  {:.2g}/s", rate) : fmt::format("  {:.0f}/s", rate);
    numbers += done < total ? fmt::format("  {} left", clock_text(static_cast<double>(total - done) / rate))
                            : fmt::format("  {}", clock_text(seconds));
  }
  constexpr Index kWidth = 24, kLeast = 4, kGap = 2;
  const Index room = columns - 1 - std::ssize(numbers);
  const Index width = std::min(kWidth, room - std::ssize(label) - kGap);
  if (width < kLeast) return label.substr(0, static_cast<std::size_t>(std::max<Index>(room, 0))) + numbers;
  const Index filled = total > 0 ? width * done / total : width;
  std::string bar;
  for (Index i = 0; i < width; ++i) bar += i < filled ? "█" : "░";
  return fmt::format("{}  {}{}", label, bar, numbers);
}

ProgressBar::ProgressBar(std::string label, Index total)
    : label_(std::move(label)),
      progress_{.total = total},
      terminal_(can_redraw(STDERR_FILENO)),
      failures_(std::uncaught_exceptions()),
      start_(std::chrono::steady_clock::now()),
      drawn_(start_) {
  if (terminal_) draw();
}

ProgressBar::~ProgressBar() {
  const bool failed = std::uncaught_exceptions() > failures_;
  if (terminal_ || (shown_ != progress_.done && !failed)) draw();
  if (terminal_) std::fputc('\n', stderr);
}

void ProgressBar::advance(Index by) {
  progress_.done += by;
  const auto now = std::chrono::steady_clock::now();
  constexpr std::chrono::seconds kQuiet{10};
  if (!terminal_ && now - drawn_ < kQuiet) return;
  draw();
  drawn_ = now;
}

void ProgressBar::already(Index count) {
  progress_.already += count;
  advance(count);
}

void ProgressBar::draw() {
  shown_ = progress_.done;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  progress_.seconds = elapsed.count();
  const std::string line =
      progress_line(for_terminal(label_), progress_, terminal_ ? window_size(STDERR_FILENO).columns : 100);
  std::fprintf(stderr, terminal_ ? "\r%s\x1b[K" : "%s\n", line.c_str());
  std::fflush(stderr);
}

}  // namespace buoy
