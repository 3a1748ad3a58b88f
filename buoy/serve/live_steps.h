// The work of a live run: generates under a visitor's changes, records every step, and rests between them.
// Private to serve.
#pragma once

#include <vector>

#include "buoy/run/recording_observer.h"
#include "buoy/run/tracer.h"
#include "buoy/serve/live_run.h"
#include "buoy/serve/pinning.h"
#include "buoy/serve/turns.h"

namespace buoy {

// On one thread, on its turn but for the rests.
class LiveSteps : public GenerationObserver {
 public:
  // Who keeps what comes and says what is wanted; called on the thread that computes.
  class Keeper {
   public:
    virtual ~Keeper() = default;
    virtual void keep_start(const Generation& before) = 0;  // before the first pass, masks laid out
    virtual StepChange take_change(Index pass) = 0;         // each once
    virtual std::vector<RunChange> all_changes() const = 0;
    virtual void keep_step(const Generation& after, const Trace& step,
                           const std::vector<Proposal>& proposed) = 0;
    // After a step, and after the finished pass, where anchors are held.
    virtual void keep_pinned(PassBias used, std::vector<HeldLayer> held) = 0;
    virtual bool cancelled() const = 0;
    virtual void rest(Turn& turn) = 0;
  };

  // All of them must outlive it.
  LiveSteps(const TraceSource& source, const LiveRunSettings& settings, Turn& turn, Keeper& keeper);

  Trace frame() const { return recorder_.frame(); }

  // To the end, with the finished pass. Throws Error, also where a fork does not repeat its parent before the
  // step where it begins, and Cancelled.
  Trace run();

  // GenerationObserver.
  bool only_watches() const override { return only_watches_; }
  bool cancelled() const override { return keeper_.cancelled(); }
  StepChange before_step(Index sample, const Generation& generation) override;
  Tap* before_pass(std::span<const Pass> passes) override;
  Tap* before_standing(std::span<const Pass> passes) override;
  void proposed(Index sample, std::span<const Proposal> proposals) override;
  void after_step(Index sample, const Generation& generation) override;

 private:
  Tap* begin(const Pass& pass, std::optional<Index> step);
  Tap* changed(Index pass, Index N, Tap* inner);
  void tell_pinned();
  void compare_with_parent(const Pass& pass) const;

  const TraceSource& source_;
  const LiveRunSettings& settings_;
  Turn& turn_;
  Keeper& keeper_;
  ModelConfig config_;  // with the mask of this generation
  Recorder recorder_;
  RecorderTap recorder_tap_;
  Pinning pinning_;
  std::optional<ChangeTap> change_tap_;
  bool only_watches_;
  std::vector<Proposal> proposed_;
};

// What happened in a step, for those who watch: docs/api.md, "Events".
Json step_event(const ShelvedModel& model, const Generation& after, const Trace& step,
                const std::vector<Proposal>& proposed);

// The sequence as it stands: tokens, texts, classes, regions, when each was written.
void describe_so_far(const ShelvedModel& model, const LiveRunSettings& settings, const Generation& generation,
                     Trace& trace);

}  // namespace buoy
