#include "buoy/engine/trace_run.h"

#include <algorithm>

#include "buoy/base/error.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

struct TraceJob {
  TraceExample example;
  fs::path path;
};

std::vector<TraceJob> plan_traces(const TraceRunSettings& settings, const TracingModel& model,
                                  RunObserver& observer) {
  std::vector<TraceJob> jobs;
  const auto add = [&](TraceExample example) {
    const fs::path path = settings.output / trace_file_name(model.name(), example.item.id);
    jobs.push_back({std::move(example), path});
  };
  for (const fs::path& file : settings.data.files) {
    const auto warn = [&](const std::string& line) { observer.warn(line); };
    const DatasetOptions reading{.format = settings.data.format, .limit = settings.data.limit};
    for (const QaItem& item : read_dataset(file, reading, warn)) add(model.example(item));
  }
  for (const std::string& text : settings.prompts) {
    TraceExample example = model.example(text);
    example.item.id = fmt::format("prompt-{}", jobs.size() + 1);
    add(std::move(example));
  }
  return jobs;
}

// Whether the trace is there already, made by the same model with the same settings.
bool is_done(const TraceJob& job, const TraceSource& source) {
  if (!fs::exists(job.path)) return false;
  if (is_trace_of(read_trace(job.path), source, job.example)) return true;
  fail("{}: is there already, made by another model or with other settings; --overwrite replaces it",
       job.path.string());
}

void place(const TraceRunSettings& settings, std::vector<TraceJob>& jobs) {
  if (jobs.size() == 1 && settings.output.extension() == ".npz") {
    jobs[0].path = settings.output;
    return;
  }
  std::error_code error;
  fs::create_directories(settings.output, error);
  if (error) fail("{}: cannot be made a directory: {}", settings.output.string(), error.message());
}

}  // namespace

void run_traces(const TraceRunSettings& settings, RunObserver& observer) {
  const TracingModel model(settings.model, settings.sampler, settings.record, settings.prompt, &observer);
  observer.note(fmt::format("{} on {}", model.name(), model.loaded().device()));
  std::vector<TraceJob> jobs = plan_traces(settings, model, observer);
  place(settings, jobs);
  Index there = 0;
  const Index total = std::ssize(jobs);
  observer.begin(fmt::format("tracing {}", model.name()), total);
  for (Index first = 0; first < total;) {
    const Index count = std::min(settings.batch_size, total - first);
    std::vector<TraceExample> batch;
    std::vector<fs::path> paths;
    // Each example keeps its own stream of random draws whatever was there before.
    while (std::ssize(batch) < count && first + std::ssize(batch) < total) {
      const TraceJob& job = jobs[static_cast<std::size_t>(first + std::ssize(batch))];
      if (!settings.overwrite && is_done(job, model.source())) break;
      batch.push_back(job.example);
      paths.push_back(job.path);
    }
    if (batch.empty()) {
      ++there;
      ++first;
      observer.advance(1);
      continue;
    }
    const std::vector<TracedSample> samples = trace_batch(model.source(), batch, first);
    for (std::size_t i = 0; i < samples.size(); ++i) write_trace(paths[i], samples[i].trace);
    first += std::ssize(batch);
    observer.advance(std::ssize(batch));
  }
  observer.end();
  if (there > 0) observer.note(fmt::format("{} of {} traces were there already", there, total));
}

}  // namespace buoy
