// A run that a visitor started: a thread of its own that writes step by step, in turn with the others on its
// model, and may be stopped, sent on, changed and watched.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "buoy/run/tracer.h"
#include "buoy/serve/event_log.h"
#include "buoy/serve/model_shelf.h"
#include "buoy/serve/run_record.h"

namespace buoy {

struct LiveRunSettings {
  std::string id = {};
  ShelvedModel* model = nullptr;  // must outlive the run
  TraceExample example;
  std::string prompt_template = {};  // for the record: what made the prompt; empty: plain text
  SamplerSettings sampler;
  std::vector<RunChange> changes = {};           // in order of their steps
  std::shared_ptr<const RunRecord> parent = {};  // of a fork
  std::optional<Index> fork_step = {};           // the pass before which the fork begins
  std::optional<std::string> ask = {};
  std::optional<Index> steps_to_go = {};  // stops after so many; none: goes on to the end
};

// Starts when it is made. Any thread. Events: "state" {"state"}, "step" (docs/api.md), "error" {"error"}.
class LiveRun : public Run {
 public:
  explicit LiveRun(LiveRunSettings settings);
  ~LiveRun() override;  // ends it
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  std::shared_ptr<const RunRecord> record() const override;
  std::shared_ptr<const EventLog> events() const;
  const LiveRunSettings& settings() const;

  // Stops before the next step; goes on, for so many steps or to the end; changes how many are left. Throw
  // HttpError 409 for a run that is over.
  void stop();
  void go(std::optional<Index> steps);
  void set_steps_left(Index steps);

  bool is_over() const;  // done or failed
  // Ends it at the next step and returns when its thread has ended.
  void end();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace buoy
