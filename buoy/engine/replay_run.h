// Replays a stream of documents and questions: every model answers every question from the collection as it
// then is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "buoy/engine/answering.h"
#include "buoy/run/replay_table.h"

namespace buoy {

// Whether questions that got outdated or false passages are asked again without them.
enum class ReplayControl { kNone, kWithoutStale };

struct ReplaySettings {
  RunSettings run;  // its data is not looked at but for the limit, which counts questions
  std::filesystem::path events;
  Index top = 5;  // passages for each question
  ReplayControl control = ReplayControl::kWithoutStale;
  std::optional<CollectOptions> trace;  // set: attention is recorded on the same pass; must hold "flow"
};

struct ReplayedRun {
  std::filesystem::path output;  // where it was kept
  std::vector<Event> events;
  std::vector<ReplaySample> samples;  // in the order of models and questions
  ReplayTable table;
  std::string about;  // JSON: see about_run()
};

// Resumes as an evaluation does. Retrieval happens once, event by event, before any model answers, and is
// stored. A stream that has grown since goes on from where it ended; one whose beginning has changed is
// refused. Nothing on ranks that do not lead. Throws Error, UsageError and Cancelled.
std::optional<ReplayedRun> run_replay(Ranks& ranks, const ReplaySettings& settings, RunObserver& observer);

}  // namespace buoy
