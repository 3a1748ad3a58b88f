#include "buoy/serve/event_log.h"

#include <algorithm>
#include <charconv>

#include "buoy/io/json.h"

namespace buoy {
namespace {

class EventStream : public HttpStream {
 public:
  EventStream(std::shared_ptr<const EventLog> log, Index after) : log_(std::move(log)), after_(after) {}

  std::optional<std::string> next(std::chrono::milliseconds wait) override {
    EventLog::Read read = log_->read(after_, wait);
    if (read.over) return std::nullopt;
    after_ = read.last;
    return std::move(read.text);
  }

 private:
  std::shared_ptr<const EventLog> log_;
  Index after_;
};

}  // namespace

void EventLog::add(const std::string& name, const Json& data) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(fmt::format("id: {}\nevent: {}\ndata: {}\n\n", events_.size() + 1, name,
                                  data.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }
  grown_.notify_all();
}

void EventLog::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  grown_.notify_all();
}

EventLog::Read EventLog::read(Index after, std::chrono::milliseconds wait) const {
  std::unique_lock lock(mutex_);
  grown_.wait_for(lock, wait, [&] { return closed_ || std::ssize(events_) > after; });
  Read made{.text = {}, .last = std::clamp<Index>(after, 0, std::ssize(events_)), .over = false};
  for (; made.last < std::ssize(events_); ++made.last)
    made.text += events_[static_cast<std::size_t>(made.last)];
  made.over = closed_ && made.text.empty();
  return made;
}

std::unique_ptr<HttpStream> stream_events(std::shared_ptr<const EventLog> log,
                                          const std::string& last_event_id) {
  Index after = 0;
  std::from_chars(last_event_id.data(), last_event_id.data() + last_event_id.size(), after);
  return std::make_unique<EventStream>(std::move(log), std::max<Index>(0, after));
}

}  // namespace buoy
