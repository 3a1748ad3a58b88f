// Shows what comes of engine/replay_run.h: a time line, what happens around changes, and all numbers.
#pragma once

#include <filesystem>
#include <span>

#include "buoy/report/page_parts.h"
#include "buoy/run/replay_table.h"

namespace buoy {

struct ReplayReport {
  std::string title, lead, command;
  std::vector<Fact> facts;
  std::string about = {};  // see replay_json()
};

// "events.jsonl: 400 events, 221 of them questions, 80 documents added, 70 changed, 12 removed".
std::string describe_stream(const std::string& name, std::span<const Event> events);

// Writes report.html, replay.csv, replay.json and figures/{timeline,changes,attention}.* into `directory`;
// "attention" where attention was traced, "changes" where a question was asked before and after a change.
// Throws Error.
void write_replay(const ReplayTable& table, std::span<const Event> events, const ReplayReport& report,
                  const std::filesystem::path& directory, const FigureOptions& options = {});

}  // namespace buoy
