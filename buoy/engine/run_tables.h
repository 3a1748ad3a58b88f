// Tables of runs that lie there, one or several together, and of answers that other programs gave.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "buoy/engine/run_settings.h"
#include "buoy/run/eval_table.h"
#include "buoy/run/run_reader.h"

namespace buoy {

// The rows and columns of a run's table: what its settings name, in the order it came.
ScoreOrder order_of_run(const Json& settings);

// What a run says of itself: its settings, everyone who worked on it (versions, commit, hardware, command),
// the collections it retrieved from.
Json about_run(const RunReader& run);

struct MergedRuns {
  std::vector<SampleResult> results;
  ScoreOrder order;
  std::string about;  // JSON: {"runs": {PATH: …}}
};

// Runs of eval as if they were one. A sample that two of them have counts once; where its prompt or answer
// differs, Error names it and both runs. Throws Error also for runs of another verb.
MergedRuns merge_runs(std::span<const std::filesystem::path> runs);

// Answers of another program: {id: answer}, lines of {"id", "prediction"} ("answer", "output", "response" and
// "predicted_answer" are read too), or plain lines, one for each item in order. Items without an answer count
// as answered by nothing; `warnings` hears how many, and which ids the data does not have. Throws Error when
// no item is answered.
std::vector<SampleResult> score_predictions(const std::filesystem::path& predictions, const NamedItems& data,
                                            const WarningSink& warnings);

}  // namespace buoy
