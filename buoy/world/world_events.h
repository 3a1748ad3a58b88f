// A stream of events over MicroWorld: facts that change, copies that stay behind, rumours, near-miss names,
// and questions whose answers are known at every moment.
#pragma once

#include "buoy/world/world_json.h"

namespace buoy {

// Shares are from 0 to 1.
struct EventSettings {
  std::uint64_t seed = 0;
  Index events = 400;                   // lines
  WorldKind world = WorldKind::kNovel;  // kKnown: what the bundled models know by heart is the first version
  Index subjects = 24;                  // people, towns and companies; a document of each opens the stream
  double near_misses = 0.25;            // subjects beside whom stands one of nearly the same name
  double questions = 0.6;               // of the events after the opening
  double rumours = 0.2;                 // of the other events: a document that states a false value
  double removals = 0.1;                // of the other events
  double additions = 0.05;              // of the other events: a subject that was not there
  double rewordings = 0.25;             // of changes: the same facts in other words
  double copies = 0.7;                  // of changes of a fact: a copy of the version before stays
};

// Throws UsageError naming what does not fit.
void check_settings(const EventSettings& settings);

struct EventCounts {
  Index events = 0, questions = 0, changes = 0;
};

// The stream as lines in the format of docs/replay.md; the same bytes on every machine. A question asks for
// the one fact of its subject that changes. Its "answers" are what the subject's document states, its
// "outdated" what earlier versions stated, its "rumoured" what rumours that are there state; a rumour never
// states what is, was or becomes true while it is there. Throws UsageError.
EventCounts write_events(const EventSettings& settings, const TextSink& sink);

}  // namespace buoy
