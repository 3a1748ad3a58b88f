#include "buoy/engine/trace_jobs.h"

#include <algorithm>
#include <cstdlib>

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/run/share_out.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// A folder of this process's own, gone with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "buoy-trace-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail("{}: cannot be made a directory", name);
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::vector<TracedSample> trace_places(const TraceSource& source, std::span<const TraceJob> jobs,
                                       std::span<const Index> places) {
  std::vector<TraceExample> examples;
  std::vector<Index> numbers;
  for (const Index place : places) {
    examples.push_back(jobs[static_cast<std::size_t>(place)].example);
    numbers.push_back(jobs[static_cast<std::size_t>(place)].number);
  }
  return trace_batch(source, examples, SampleStreams(numbers));
}

// A line of JSON, then the files that write_trace() makes, one after the other: what rank 0 writes down has
// the same bytes whoever traced.
std::string message_of(std::span<const Index> places, std::span<const TracedSample> samples) {
  const ScratchFolder scratch;
  Json sizes = Json::array();
  std::string bytes;
  for (const TracedSample& sample : samples) {
    const fs::path path = scratch.path() / "trace.npz";
    write_trace(path, sample.trace);
    const std::string file = read_file(path);
    sizes.push_back(file.size());
    bytes += file;
  }
  return Json{{"places", std::vector<Index>(places.begin(), places.end())}, {"sizes", sizes}}.dump() + "\n" +
         bytes;
}

Index write_message(const std::string& message, std::span<const TraceJob> jobs) {
  const std::size_t line = message.find('\n');
  const Json header = parse_json(message.substr(0, line), "message of a rank");
  std::string_view rest = std::string_view(message).substr(line + 1);
  const auto places = header["places"].get<std::vector<std::size_t>>();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto size = header["sizes"][i].get<std::size_t>();
    write_file_atomically(jobs[places[i]].path, rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return std::ssize(places);
}

std::vector<std::span<const Index>> cut(std::span<const Index> open, Index batch_size) {
  std::vector<std::span<const Index>> batches;
  while (!open.empty()) {
    batches.push_back(open.first(std::min(open.size(), static_cast<std::size_t>(batch_size))));
    open = open.subspan(batches.back().size());
  }
  return batches;
}

}  // namespace

void trace_jobs(Ranks& ranks, const TraceSource& source, const TraceShare& share) {
  if (!ranks.leads()) {
    return take_work(ranks, [&](const std::string& piece) {
      const auto places = parse_json(piece, "message of rank 0").get<std::vector<Index>>();
      return message_of(places, trace_places(source, share.jobs, places));
    });
  }
  const std::vector<std::span<const Index>> batches = cut(share.open, share.batch_size);
  if (ranks.count() == 1) {
    for (const std::span<const Index> places : batches) {
      const std::vector<TracedSample> samples = trace_places(source, share.jobs, places);
      for (std::size_t i = 0; i < samples.size(); ++i) {
        write_trace(share.jobs[static_cast<std::size_t>(places[i])].path, samples[i].trace);
      }
      share.written(std::ssize(places));
    }
    return;
  }
  std::vector<std::string> pieces;
  for (const std::span<const Index> places : batches) {
    pieces.push_back(Json(std::vector<Index>(places.begin(), places.end())).dump());
  }
  hand_out(ranks, pieces,
           [&](const std::string& message) { share.written(write_message(message, share.jobs)); });
}

}  // namespace buoy
