// Watches a batch being generated and hands every pass to the recorders of its samples.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "buoy/decode/generation.h"
#include "buoy/probe/recorder.h"

namespace buoy {

// Watches for nothing but the wish to stop; empty: none.
class CancellingObserver : public GenerationObserver {
 public:
  explicit CancellingObserver(std::function<bool()> cancelled) : cancelled_(std::move(cancelled)) {}
  bool cancelled() const override { return cancelled_ && cancelled_(); }

 private:
  std::function<bool()> cancelled_;
};

// Records every pass; the finished one is left to who made the recorders, which must outlive it.
class RecordingObserver : public CancellingObserver {
 public:
  RecordingObserver(std::span<Recorder> recorders, std::function<bool()> cancelled)
      : CancellingObserver(std::move(cancelled)), recorders_(recorders) {}

  bool only_watches() const override { return true; }

  Tap* before_pass(std::span<const Pass> passes) override {
    tap_.recorders.clear();
    for (const Pass& pass : passes) begin(pass, pass.generation->steps);
    return &tap_;
  }

  Tap* before_standing(std::span<const Pass> passes) override {
    tap_.recorders.clear();
    for (const Pass& pass : passes) begin(pass, std::nullopt);
    return &tap_;
  }

  void proposed(Index sample, std::span<const Proposal> proposals) override {
    for (const Proposal& p : proposals)
      recorders_[static_cast<std::size_t>(sample)].guessed(p.position, p.token, p.confidence);
  }

  void after_step(Index sample, const Generation& generation) override {
    recorders_[static_cast<std::size_t>(sample)].end_pass(generation.just_committed);
  }

 private:
  void begin(const Pass& pass, std::optional<Index> step) {
    Recorder& recorder = recorders_[static_cast<std::size_t>(pass.sample)];
    recorder.begin_pass({.step = step,
                         .tokens = pass.tokens,
                         .first_row = pass.first_row,
                         .read_rows = pass.read_positions,
                         .rows = pass.rows});
    tap_.recorders.push_back(&recorder);
  }

  std::span<Recorder> recorders_;
  RecorderTap tap_;
};

}  // namespace buoy
