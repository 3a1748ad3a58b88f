// The runs that a server remembers: those that were recorded before stay, of the others the oldest go.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "buoy/serve/live_run.h"
#include "buoy/serve/run_record.h"

namespace buoy {

struct RunLimits {
  Index active;                  // runs under way at once
  Index history, history_bytes;  // runs of visitors that are remembered, and what they take
};

// Any thread.
class RunShelf {
 public:
  explicit RunShelf(const RunLimits& limits) : limits_(limits) {}

  // A run from a file, under an id made of its name.
  void add_recorded(const std::string& name, RunRecord record);

  // Makes a run of a visitor with the id that it is given and starts it. Throws HttpError 429 where too many
  // are under way. What is forgotten for it ends first.
  std::shared_ptr<LiveRun> start(LiveRunSettings settings);

  // In the order they came.
  std::vector<std::shared_ptr<Run>> all() const;
  // Throw HttpError 404; the second also 409 for a run that is not a visitor's.
  std::shared_ptr<Run> find(const std::string& id) const;
  std::shared_ptr<LiveRun> find_live(const std::string& id) const;
  void remove(const std::string& id);

  void end_all();

 private:
  struct Entry {
    std::string id;
    std::shared_ptr<Run> run;
    std::shared_ptr<LiveRun> live;  // the same, or null
  };
  std::vector<std::shared_ptr<LiveRun>> make_room();

  const RunLimits limits_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  Index next_ = 1;
};

}  // namespace buoy
