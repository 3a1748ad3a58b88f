#include "buoy/engine/audit_run.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "buoy/base/cancel.h"
#include "buoy/base/error.h"
#include "buoy/engine/tracing_model.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/run/eval.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

using QuestionName = std::pair<std::string, std::string>;  // data, sample

void check_audit(const AuditSettings& settings, const NamedModel& model) {
  const SamplerSettings& sampler = settings.run.sampler;
  std::set<std::string> names;
  if (settings.caches.empty()) fail_usage("no cache is given, expected prefix, dual or delayed");
  for (const AuditedCache& cache : settings.caches) {
    if (!names.insert(cache.name()).second) fail_usage("cache {} is given twice", cache.name());
    const SamplerSettings with = cache.applied_to(sampler);
    if (cache.kind != CacheKind::kNone && cache_of(with, model.config) == CacheKind::kNone) {
      fail(
          "{} is {}, expected a model that sees both ways (LLaDA, A2D, Dream): others keep what they have "
          "seen exactly",
          model.name, model.config.family->name);
    }
    check_settings(with, model.config);
  }
}

Json describe_audit(const AuditSettings& settings, std::span<const NamedItems> data) {
  Json json = describe_run(settings.run);
  json["data"] = describe_data(data);
  json["passages"] = settings.passages;
  json["too_long"] = name_of(settings.run.too_long);
  for (const AuditedCache& cache : settings.caches) json["caches"].push_back(cache.name());
  return json;
}

// The questions that are done, on disk: a first line that says of which audit, then a line for each.
class AuditedShelf {
 public:
  AuditedShelf(fs::path path, const std::string& identity) : path_(std::move(path)) {
    read(identity);
    // Written anew, so that a line that was cut short is gone.
    std::string text = Json{{"audit", identity}}.dump() + "\n";
    for (const auto& [name, audit] : done_) text += line_of(name, audit);
    write_file_atomically(path_, text);
  }

  const QuestionAudit* find(const QuestionName& name) const {
    const auto found = done_.find(name);
    return found == done_.end() ? nullptr : &found->second;
  }

  void add(const QuestionName& name, QuestionAudit audit) {
    std::ofstream file(path_, std::ios::app | std::ios::binary);
    file << line_of(name, audit) << std::flush;
    if (!file) fail("{}: cannot be written", path_.string());
    done_.emplace(name, std::move(audit));
  }

 private:
  static std::string line_of(const QuestionName& name, const QuestionAudit& audit) {
    return Json{{"data", name.first}, {"sample", name.second}, {"audit", to_json(audit)}}.dump() + "\n";
  }

  void read(const std::string& identity) {
    if (!fs::exists(path_)) return;
    std::ifstream file(path_, std::ios::binary);
    std::string line;
    if (!std::getline(file, line) || line != Json{{"audit", identity}}.dump()) return;
    while (std::getline(file, line) && !file.eof()) {  // a line without its end was cut short
      const Json json = parse_json(line, path_.string());
      const JsonObject question(json, path_.string());
      const Json* audit = question.find("audit");
      done_.emplace(QuestionName{question.string("data"), question.string("sample")},
                    question_audit_from_json(audit == nullptr ? Json() : *audit, path_.string()));
    }
  }

  fs::path path_;
  std::map<QuestionName, QuestionAudit> done_;
};

struct AuditJob {
  QuestionName name;
  Index number = 0;  // place in the dataset
  TraceExample example;
};

// The questions under the condition; those that do not fit as the settings say.
std::vector<AuditJob> plan_audit(const AuditSettings& settings, const TracingModel& model,
                                 std::span<const NamedItems> data, RunObserver& observer) {
  const Condition condition = parse_condition(settings.passages);
  const Index limit = model.config().context - settings.run.sampler.gen_length;
  std::vector<AuditJob> jobs;
  std::vector<std::string> long_ones;
  for (const NamedItems& set : data) {
    for (std::size_t i = 0; i < set.items.size(); ++i) {
      TraceExample example = model.example(under(condition, set.items[i], {}));
      const Index tokens = std::ssize(example.prompt.ids);
      if (tokens > limit) {
        long_ones.push_back(fmt::format("{} has {} tokens", quote(set.items[i].id), tokens));
      } else {
        jobs.push_back({{set.name, set.items[i].id}, static_cast<Index>(i), std::move(example)});
      }
    }
  }
  if (!long_ones.empty()) {
    const std::string list = fmt::format("{} prompts are too long, {} tokens fit: {}", long_ones.size(),
                                         limit, fmt::join(long_ones, "; "));
    if (settings.run.too_long != TooLong::kSkip) fail("{}. --too-long skip leaves them out", list);
    observer.warn("left out: " + list);
  }
  return jobs;
}

}  // namespace

AuditedRun run_audit(const AuditSettings& settings, RunObserver& observer) {
  const std::vector<NamedModel> models = read_models(settings.run);
  if (models.size() != 1) fail_usage("{} models are given, expected one", models.size());
  check_audit(settings, models[0]);
  const auto warn = [&](const std::string& line) { observer.warn(line); };
  std::vector<NamedItems> data = read_data(settings.run.data, settings.run.places, warn, &observer);
  const Json inputs = describe_audit(settings, data);
  OutputFolder folder(settings.run.output, "audit", inputs, settings.other);
  const TracingModel model(settings.run.model(models[0].given, 0), settings.run.sampler, {},
                           settings.run.prompt, &observer);
  observer.note(fmt::format("{} on {}", model.name(), model.loaded().device()));
  const std::vector<AuditJob> jobs = plan_audit(settings, model, data, observer);
  folder.begin();
  AuditedShelf shelf(folder.path() / "questions.jsonl", hash_of(inputs));

  std::vector<AuditedQuestion> audited;
  bool warm = false;
  Index there = 0;
  for (const AuditJob& job : jobs) there += shelf.find(job.name) != nullptr ? 1 : 0;
  const auto tell_kept = [&] {
    if (there == 0) return;
    observer.kept(fmt::format("{} of {} questions in {}", there, jobs.size(), folder.path().string()));
  };
  tell_kept();
  if (there > 0) observer.found(fmt::format("{} of {} questions were there already", there, jobs.size()));
  observer.begin(fmt::format("auditing {}", model.name()), std::ssize(jobs));
  for (const AuditJob& job : jobs) {
    if (observer.cancelled()) throw Cancelled();
    const bool found = shelf.find(job.name) != nullptr;
    if (!found) {
      // What the first passes of a process pay for is no cache's doing.
      if (!warm) audit_question(model.source(), job.example, settings.caches, job.number);
      warm = true;
      shelf.add(job.name, audit_question(model.source(), job.example, settings.caches, job.number));
      ++there;
      tell_kept();
    }
    audited.push_back({job.name.first, job.name.second, *shelf.find(job.name)});
    if (found) observer.already(1);
    if (!found) observer.advance(1);
  }
  observer.end();
  std::vector<std::string> names;
  for (const AuditedCache& cache : settings.caches) names.push_back(cache.name());
  return {.folder = std::move(folder),
          .data = std::move(data),
          .result = make_audit_result(model.name(), std::move(names), std::move(audited))};
}

}  // namespace buoy
