#include "buoy/engine/trace_shelf.h"

#include <algorithm>

#include "buoy/base/error.h"

namespace buoy {

namespace fs = std::filesystem;

fs::path TraceShelf::place(const TracingModel& model, const std::string& data, const QaItem& item,
                           Index number) const {
  // Random draws go by the number.
  return directory_ / trace_file_name(model.name(), fmt::format("{}-{}-{}", data, number, item.id));
}

bool TraceShelf::holds(const TracingModel& model, const std::string& data, const QaItem& item, Index number) {
  const fs::path path = place(model, data, item, number);
  const bool there = fs::exists(path) && is_trace_of(read_trace(path), model.source(), model.example(item));
  if (!there) missed_.insert(path);
  return there;
}

std::vector<Trace> TraceShelf::get(const TracingModel& model, const std::string& data,
                                   std::span<const QaItem> items, Index first_sample) {
  std::vector<fs::path> paths;
  for (std::size_t i = 0; i < items.size(); ++i) {
    paths.push_back(place(model, data, items[i], first_sample + static_cast<Index>(i)));
  }
  paths_.insert(paths.begin(), paths.end());
  std::vector<Trace> traces;
  for (std::size_t i = 0; i < items.size() && fs::exists(paths[i]); ++i) {
    Trace trace = read_trace(paths[i]);
    if (!is_trace_of(trace, model.source(), model.example(items[i]))) break;
    traces.push_back(std::move(trace));
  }
  if (traces.size() == items.size()) {
    found_ += std::ranges::count_if(paths, [&](const fs::path& path) { return !missed_.contains(path); });
    return traces;
  }
  traces = model.trace(items, first_sample);
  make();
  for (std::size_t i = 0; i < items.size(); ++i) write_trace(paths[i], traces[i]);
  return traces;
}

void TraceShelf::make() const {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) fail("{}: cannot be made a directory: {}", directory_.string(), error.message());
}

void TraceShelf::clear() const {
  std::error_code ignored;  // a leftover does no harm
  for (const fs::path& path : paths_) fs::remove(path, ignored);
  fs::remove(directory_, ignored);
}

}  // namespace buoy
