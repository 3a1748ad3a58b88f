#include "apps/cli/progress.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace buoy {
namespace {

std::string clock_text(double seconds) {
  const auto s = static_cast<Index>(seconds + 0.5);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

std::string progress_line(const std::string& label, Index done, Index total, double seconds) {
  constexpr Index kWidth = 24;
  const Index filled = total > 0 ? kWidth * done / total : kWidth;
  std::string bar;
  for (Index i = 0; i < kWidth; ++i) bar += i < filled ? "█" : "░";
  std::string line = fmt::format("{}  {}  {}/{}", label, bar, done, total);
  if (done == 0 || seconds <= 0) return line;
  const double rate = static_cast<double>(done) / seconds;
  line += rate < 100 ? fmt::format("  {:.2g}/s", rate) : fmt::format("  {:.0f}/s", rate);
  line += done < total ? fmt::format("  {} left", clock_text(static_cast<double>(total - done) / rate))
                       : fmt::format("  {}", clock_text(seconds));
  return line;
}

ProgressBar::ProgressBar(std::string label, Index total)
    : label_(std::move(label)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      drawn_(start_) {
  if (terminal_) draw();
}

ProgressBar::~ProgressBar() {
  if (terminal_ || shown_ != done_) draw();
  if (terminal_) std::fputc('\n', stderr);
}

void ProgressBar::advance(Index by) {
  done_ += by;
  const auto now = std::chrono::steady_clock::now();
  constexpr std::chrono::seconds kQuiet{10};
  if (!terminal_ && now - drawn_ < kQuiet) return;
  draw();
  drawn_ = now;
}

void ProgressBar::draw() {
  shown_ = done_;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  const std::string line = progress_line(label_, done_, total_, elapsed.count());
  std::fprintf(stderr, terminal_ ? "\r%s\x1b[K" : "%s\n", line.c_str());
  std::fflush(stderr);
}

}  // namespace buoy
