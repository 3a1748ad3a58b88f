// What happened in a run, as server-sent events: written once, read by any number of streams at their own
// pace.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "buoy/serve/http.h"

namespace buoy {

// Any thread. Who writes never waits for who reads.
class EventLog {
 public:
  // `name` is the event's type; numbers count from 1.
  void add(const std::string& name, const Json& data);
  // Nothing comes after this; streams end when they have read everything.
  void close();

  // Those after number `after`, formatted, and the number of the last; waits for some, or for the end.
  struct Read {
    std::string text;
    Index last = 0;
    bool over = false;  // closed, and nothing was left to read
  };
  Read read(Index after, std::chrono::milliseconds wait) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable grown_;
  std::vector<std::string> events_;
  bool closed_ = false;
};

// Goes on after the event whose number the browser names (Last-Event-ID; empty: from the first).
std::unique_ptr<HttpStream> stream_events(std::shared_ptr<const EventLog> log,
                                          const std::string& last_event_id);

}  // namespace buoy
