#include "buoy/engine/trace_run.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/engine/long_prompts.h"
#include "buoy/engine/rank_observer.h"
#include "buoy/engine/trace_jobs.h"
#include "buoy/io/hash.h"
#include "buoy/io/json.h"
#include "buoy/run/run_identity.h"
#include "buoy/run/share_out.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

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
    jobs.push_back({std::move(example), std::ssize(jobs), path});
  };
  FittingExamples fitting(settings, model);
  if (!settings.data.files.empty()) {
    const auto warn = [&](const std::string& line) { observer.warn(line); };
    for (const NamedItems& set : read_data(settings.data, settings.model.places, warn, &observer)) {
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

// What ranks compare: everything that a trace depends on.
Json compared(const TraceSource& source, std::span<const TraceJob> jobs) {
  Hasher examples;
  for (const TraceJob& job : jobs) {
    examples.add(job.example.item.id);
    examples.add(hash_of_item(job.example.item, job.number));
    examples.add(Json(job.example.prompt.ids).dump());
  }
  return {{"buoy", source.buoy_version},
          {"model", source.model_hash},
          {"tokenizer", source.tokenizer_hash},
          {"settings", parse_json(source.settings, "settings")},
          {"examples", {{"count", jobs.size()}, {"hash", examples.hex()}}}};
}

// Of one that leads: what is to be done. Throws Error for a trace that is there and is another.
std::vector<Index> find_open(const TraceRunSettings& settings, const TraceSource& source,
                             std::span<const TraceJob> jobs) {
  std::vector<Index> open;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (settings.overwrite || !is_done(jobs[i], source)) open.push_back(static_cast<Index>(i));
  }
  return open;
}

}  // namespace

void run_traces(Ranks& ranks, const TraceRunSettings& settings, RunObserver& watching) {
  RankObserver observer(ranks, watching);
  ModelSettings own = settings.model;
  own.device.local_rank = ranks.local_rank();
  const TracingModel model(own, settings.sampler, settings.record, settings.prompt, &observer);
  check_date(settings.prompt,
             {settings.prompts.empty() ? &model.chat_of_questions() : &model.chat_of_text(), 1});
  check_watchable(settings.sampler, model.config(), "a trace");
  observer.note(fmt::format("{} on {}", model.name(), model.loaded().device()));
  std::vector<TraceJob> jobs = plan_traces(settings, model, observer);
  agree(ranks, compared(model.source(), jobs));
  std::vector<Index> open;
  if (ranks.leads()) {
    place(settings, jobs);
    open = find_open(settings, model.source(), jobs);
  }
  const Index total = std::ssize(jobs);
  Index there = total - std::ssize(open);
  const auto tell_kept = [&] {
    if (there == 0) return;
    observer.kept(fmt::format("{} of {} traces in {}", there, total, settings.output.string()));
  };
  if (ranks.leads() && there > 0) {
    observer.found(fmt::format("{} of {} traces were there already", there, total));
    tell_kept();
  }
  observer.begin(fmt::format("tracing {}", model.name()), total);
  observer.already(there);
  trace_jobs(ranks, model.source(),
             {.jobs = jobs, .open = open, .batch_size = settings.batch_size, .written = [&](Index traces) {
                there += traces;
                observer.advance(traces);
                tell_kept();
              }});
  observer.end();
}

}  // namespace buoy
