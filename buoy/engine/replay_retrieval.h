// What a stream's collection gives for each of its questions at the moment it is asked. Private to engine.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "buoy/engine/replay_run.h"
#include "buoy/engine/retrieval.h"

namespace buoy {

// By condition and question. A passage's id is that of the document with its version: "ID@2".
using ReplayPassages = Retrieved;

struct ReplayConditions {
  std::string data;           // name of the stream
  std::string main, control;  // control: empty where it is not asked for
  Index top = 5;
};
ReplayConditions conditions_of(const ReplaySettings& settings);

// What the store has, and where it lacks something, what the stream gives when it is played into a new
// collection beside the store; stored before it returns. Questions whose passages are not stale have no
// control. Throws Error and Cancelled.
ReplayPassages retrieve_stream(RunStore& store, const ReplayConditions& conditions,
                               std::span<const Event> events, RunObserver& observer);

// Every passage that a question got, by question and by its id with version.
using PassageStandings = std::map<std::string, std::map<std::string, ReplayPassage>>;
PassageStandings standings_of(std::span<const Event> events, const ReplayPassages& passages);

bool is_stale(const ReplayPassage& passage);  // outdated or a rumour

}  // namespace buoy
