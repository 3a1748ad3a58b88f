#include "buoy/engine/trace_run.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/engine/long_prompts.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

struct TraceJob {
  TraceExample example;
  fs::path path;
};

// Examples that leave room for the answer; the others as the settings say, and told of.
class FittingExamples {
 public:
  FittingExamples(const TraceRunSettings& settings, const TracingModel& model)
      : settings_(settings), model_(model), limit_(model.config().context - settings.sampler.gen_length) {}

  // Nothing where it is to be left out.
  std::optional<TraceExample> of(const QaItem& item) {
    TraceExample example = model_.example(item);
    if (fits(example)) return example;
    found_.push_back(fmt::format("{} has {} tokens", quote(item.id), example.prompt.ids.size()));
    if (settings_.too_long != TooLong::kCut) return std::nullopt;
    QaItem shorter = item;
    const auto cut = cut_to_fit(item.passages, [&](const std::vector<QaPassage>& passages) {
      shorter.passages = passages;
      return fits(model_.example(shorter));
    });
    if (!cut) fail("{}, {} fit, and nothing is left to cut", found_.back(), limit_);
    shorter.passages = *cut;
    return model_.example(shorter);
  }

  void tell(RunObserver& observer) const {
    if (found_.empty()) return;
    constexpr std::size_t kListed = 10;
    const std::string list = fmt::format(
        "{} prompt{} too long, {} tokens fit: {}{}", found_.size(), found_.size() == 1 ? " is" : "s are",
        limit_, fmt::join(std::span(found_).first(std::min(found_.size(), kListed)), "; "),
        found_.size() > kListed ? "; …" : "");
    if (settings_.too_long == TooLong::kFail)
      fail("{}. --too-long skip leaves them out, --too-long cut shortens their passages", list);
    observer.warn(
        fmt::format("{}: {}", settings_.too_long == TooLong::kSkip ? "left out" : "passages are cut", list));
  }

 private:
  bool fits(const TraceExample& example) const { return std::ssize(example.prompt.ids) <= limit_; }

  const TraceRunSettings& settings_;
  const TracingModel& model_;
  Index limit_;
  std::vector<std::string> found_;
};

std::vector<TraceJob> plan_traces(const TraceRunSettings& settings, const TracingModel& model,
                                  RunObserver& observer) {
  std::vector<TraceJob> jobs;
  const auto add = [&](TraceExample example) {
    const fs::path path = settings.output / trace_file_name(model.name(), example.item.id);
    jobs.push_back({std::move(example), path});
  };
  FittingExamples fitting(settings, model);
  if (!settings.data.files.empty()) {
    const auto warn = [&](const std::string& line) { observer.warn(line); };
    for (const NamedItems& set : read_data(settings.data, settings.model.places, warn)) {
      for (const QaItem& item : set.items) {
        if (std::optional<TraceExample> example = fitting.of(item)) add(std::move(*example));
      }
    }
    fitting.tell(observer);
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
  check_watchable(settings.sampler, model.config(), "a trace");
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
