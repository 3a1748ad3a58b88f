// The store of an evaluation: every finished sample, durable as soon as it is added. One SQLite file per run.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "buoy/analysis/measurement.h"
#include "buoy/corpus/answer_score.h"
#include "buoy/io/json_fwd.h"
#include "buoy/io/sqlite.h"

namespace buoy {

// What names a sample of a run.
struct RunKey {
  std::string model, data, condition, sample;
  friend auto operator<=>(const RunKey&, const RunKey&) = default;
};

struct SampleResult {
  RunKey key;
  Index number = 0;  // place in the dataset, from 0
  std::string task, question;
  std::string prompt, answer;
  AnswerScore score;
  Index prompt_tokens = 0, steps = 0;
  std::vector<Index> commit_step;
  double seconds = 0;  // its share of the batch's time: the only thing that differs between two runs
  // What the analyses say of its attention, where it was traced, and how much an intervention did.
  Measurements seen;
};

// One run at a time: a second one on the same file is refused. One thread.
class RunStore {
 public:
  // Opens the run or begins it. `settings` says everything that the results depend on. Throws Error when
  // another process has the run open, when the file is no run or of another version, and when it was begun
  // with other settings: the message says which.
  RunStore(const std::filesystem::path& path, const Json& settings);
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;
  ~RunStore();

  // All of them or none; on disk when it returns. Throws Error (disk full …); what was there before stays.
  void add(std::span<const SampleResult> results);

  const std::set<RunKey>& done() const { return done_; }

  // Everything but what was seen, in the order of model, data, condition and number.
  std::vector<SampleResult> results() const;

  // What was seen, sample by sample, in the same order; samples of which nothing was seen are left out.
  void each_seen(const std::function<void(const SampleResult& sample)>& take) const;

 private:
  class Lock;
  std::unique_ptr<Lock> lock_;
  Database database_;
  std::set<RunKey> done_;
};

// Measurements as JSON text and back. Throws Error at `place`.
std::string measurements_to_json(const Measurements& measurements);
Measurements measurements_from_json(std::string_view text, std::string_view place);

// "/sampler/steps was 16, now 32; …": what differs between two sets of settings. Empty: nothing.
std::string settings_difference(const Json& old_settings, const Json& new_settings);

}  // namespace buoy
