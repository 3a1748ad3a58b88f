#include "buoy/serve/run_shelf.h"

#include <algorithm>

#include "buoy/io/file_name.h"
#include "buoy/io/json.h"
#include "buoy/probe/trace_arrays.h"
#include "buoy/serve/http.h"

namespace buoy {
namespace {

// What a run's arrays take.
Index bytes_of(const Trace& trace) {
  Index bytes = 0;
  for (const TraceArray& array : trace_arrays()) {
    array.visit(trace, [&](const auto& values) {
      bytes += std::ssize(values) * static_cast<Index>(sizeof(values[0]));
    });
  }
  return bytes;
}

}  // namespace

void RunShelf::add_recorded(const std::string& name, RunRecord record) {
  const std::lock_guard lock(mutex_);
  const auto taken = [&](const std::string& id) {
    return std::ranges::find(entries_, id, &Entry::id) != entries_.end();
  };
  const std::string base = file_name_of(name);
  record.id = base;
  for (Index i = 2; taken(record.id); ++i) record.id = fmt::format("{}-{}", base, i);
  const std::string id = record.id;
  entries_.push_back({id, std::make_shared<RecordedRun>(std::move(record)), nullptr});
}

// Takes the oldest runs that are over off the shelf, where it is full.
std::vector<std::shared_ptr<LiveRun>> RunShelf::make_room() {
  std::vector<std::shared_ptr<LiveRun>> gone;
  Index count = 0, bytes = 0;
  for (const Entry& entry : entries_) {
    if (entry.live == nullptr) continue;
    ++count;
    bytes += bytes_of(entry.live->record()->trace);
  }
  const auto over = [](const Entry& e) { return e.live != nullptr && e.live->is_over(); };
  while (count >= limits_.history || bytes > limits_.history_bytes) {
    const auto oldest = std::ranges::find_if(entries_, over);
    if (oldest == entries_.end()) break;
    --count;
    bytes -= bytes_of(oldest->live->record()->trace);
    gone.push_back(oldest->live);
    entries_.erase(oldest);
  }
  return gone;
}

std::shared_ptr<LiveRun> RunShelf::start(LiveRunSettings settings) {
  std::vector<std::shared_ptr<LiveRun>> gone;  // destroyed, and joined, when nothing is locked
  const std::lock_guard lock(mutex_);
  const Index active =
      std::ranges::count_if(entries_, [](const Entry& e) { return e.live != nullptr && !e.live->is_over(); });
  if (active >= limits_.active) {
    fail_http(429, "{} runs are under way, expected at most {}: end one, or wait", active, limits_.active);
  }
  gone = make_room();
  settings.id = fmt::format("run-{}", next_++);
  const std::string id = settings.id;
  auto run = std::make_shared<LiveRun>(std::move(settings));
  entries_.push_back({id, run, run});
  return run;
}

std::vector<std::shared_ptr<Run>> RunShelf::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Run>> runs;
  for (const Entry& entry : entries_) runs.push_back(entry.run);
  return runs;
}

std::shared_ptr<Run> RunShelf::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, id, &Entry::id);
  if (found == entries_.end()) fail_http(404, "run {} is not here", quote(id));
  return found->run;
}

std::shared_ptr<LiveRun> RunShelf::find_live(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, id, &Entry::id);
  if (found == entries_.end()) fail_http(404, "run {} is not here", quote(id));
  if (found->live == nullptr)
    fail_http(409, "run {} was recorded before: it does not go on; fork it", quote(id));
  return found->live;
}

void RunShelf::remove(const std::string& id) {
  const std::shared_ptr<LiveRun> run = find_live(id);
  run->end();
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.id == id; });
}

void RunShelf::end_all() {
  std::vector<Entry> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = entries_;
  }
  for (const Entry& entry : entries) {
    if (entry.live) entry.live->end();
  }
}

}  // namespace buoy
