// A run as it stands at a moment: what is asked of it is answered from here, whether it came from a file or
// is still being written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "buoy/probe/trace.h"
#include "buoy/serve/run_change.h"

namespace buoy {

enum class RunState { kWaiting, kRunning, kStopped, kDone, kFailed };
// "waiting", "running", "stopped", "done", "failed".
std::string_view name_of(RunState state);

// Immutable once shared.
struct RunRecord {
  std::string id, title, family;
  RunState state = RunState::kDone;
  std::string error;  // of kFailed
  // While a run is not done its tokens are the current ones and what follows the last step (answer rows, the
  // finished pass) is empty.
  Trace trace;
  std::vector<RunChange> changes;  // in order of their steps
  std::vector<PassBias> pinned;    // of every pass since anchors are held, in order
  std::vector<HeldLayer> held;
  std::optional<std::string> parent;
  std::optional<Index> fork_step;
  std::optional<std::string> ask;  // the question of a collection that it answers

  Index N() const { return trace.N(); }
  Index S() const { return trace.S(); }
  // Of the sequence before recorded step t; t = S: as it stands after the last.
  Index length(Index t) const;
  std::vector<TokenId> tokens(Index t) const;  // [length]
  // The number of pass t; of t = S one more than any.
  Index pass(Index t) const;
  // What pass number `pass` ran under.
  ChangeInForce change_at(Index pass) const;
};

// A run that a server knows. Any thread.
class Run {
 public:
  virtual ~Run() = default;
  virtual std::shared_ptr<const RunRecord> record() const = 0;
};

// One that was recorded before and does not change.
class RecordedRun : public Run {
 public:
  explicit RecordedRun(RunRecord record) : record_(std::make_shared<const RunRecord>(std::move(record))) {}
  std::shared_ptr<const RunRecord> record() const override { return record_; }

 private:
  std::shared_ptr<const RunRecord> record_;
};

// "Who serves as mayor of …": the question or the prompt's beginning, on one line.
std::string title_of(const std::string& text);

}  // namespace buoy
