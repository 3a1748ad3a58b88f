#include "buoy/engine/trace_shelf.h"

#include "buoy/base/error.h"

namespace buoy {

namespace fs = std::filesystem;

std::vector<Trace> TraceShelf::get(const TracingModel& model, const std::string& data,
                                   std::span<const QaItem> items, Index first_sample) {
  std::vector<fs::path> paths;
  for (std::size_t i = 0; i < items.size(); ++i) {  // random draws go by the number
    const std::string id = fmt::format("{}-{}-{}", data, first_sample + static_cast<Index>(i), items[i].id);
    paths.push_back(directory_ / trace_file_name(model.name(), id));
  }
  paths_.insert(paths.begin(), paths.end());
  std::vector<Trace> traces;
  for (std::size_t i = 0; i < items.size() && fs::exists(paths[i]); ++i) {
    Trace trace = read_trace(paths[i]);
    if (!is_trace_of(trace, model.source(), model.example(items[i]))) break;
    traces.push_back(std::move(trace));
  }
  if (traces.size() == items.size()) {
    found_ += std::ssize(items);
    return traces;
  }
  traces = model.trace(items, first_sample);
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) fail("{}: cannot be made a directory: {}", directory_.string(), error.message());
  for (std::size_t i = 0; i < items.size(); ++i) write_trace(paths[i], traces[i]);
  return traces;
}

void TraceShelf::clear() const {
  std::error_code ignored;  // a leftover does no harm
  for (const fs::path& path : paths_) fs::remove(path, ignored);
  fs::remove(directory_, ignored);
}

}  // namespace buoy
