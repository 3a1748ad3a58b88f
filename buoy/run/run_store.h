// The store of an evaluation: every finished sample, durable as soon as it is added. One SQLite file per run.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "buoy/analysis/measurement.h"
#include "buoy/corpus/answer_score.h"
#include "buoy/corpus/dataset.h"
#include "buoy/io/json_fwd.h"
#include "buoy/io/sqlite.h"

namespace buoy {

struct RunIdentity;  // run_identity.h
struct RunItem;

// What names a sample of a run.
struct RunKey {
  std::string model, data, condition, sample;
  friend auto operator<=>(const RunKey&, const RunKey&) = default;
};

struct SampleResult {
  RunKey key;
  Index number = 0;  // place in the dataset, from 0
  std::string task, question;
  std::string prompt, answer;  // the prompt as the model got it, after the chat template
  AnswerScore score;
  Index prompt_tokens = 0, steps = 0;
  std::vector<Index> commit_step;
  double seconds = 0;  // its share of the batch's time: the only thing that differs between two runs
  // What the analyses say of its attention, where it was traced, and how much an intervention did.
  Measurements seen;
  std::vector<Index> output_ids = {};  // everything that was generated, EOS and what follows it included
};

// What a sample is answered from, the same for all models.
struct RunInput {
  std::string data, condition, sample;
  std::string question;
  std::vector<std::string> answers;
  std::vector<QaPassage> passages;  // as the prompt has them; with ids and scores where they have some
};

// One run at a time: a second one on the same file is refused. One thread.
class RunStore {
 public:
  // Opens the run or begins it; a run that was begun may grow as its identity allows. Throws Error when
  // another process has the run open, when the file is no run or of another version, and when it was begun
  // with other settings or other items: the message says which.
  RunStore(const std::filesystem::path& path, const RunIdentity& identity);
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;
  ~RunStore();

  // All of them or none; on disk when it returns. Throws Error (disk full …); what was there before stays.
  void add(std::span<const SampleResult> results);

  // Keeps what samples are answered from; what is there already must be the same, or Error names the item.
  void add_inputs(std::span<const RunInput> inputs);

  // Passages that were found for a condition, all of these or none; and those of one item where it has some.
  void add_retrieved(std::span<const RunInput> inputs);
  std::optional<std::vector<QaPassage>> retrieved(const std::string& data, const std::string& condition,
                                                  const std::string& sample) const;

  // The collection that a condition's passages come from. Throws Error when it was another one before.
  void add_collection(const std::string& condition, const Json& collection);

  // Token ids of prompts, where they were asked for; those that are there stay.
  void add_prompt_ids(std::span<const std::pair<RunKey, std::vector<Index>>> prompts);

  // Who works on the run, with what: version, commit, hardware, command. One for each time it is opened.
  void add_session(const Json& about);

  const std::set<RunKey>& done() const { return done_; }
  Json settings() const;  // with everything that it grew by

  // Everything but what was seen, in the order of model, data, condition and number.
  std::vector<SampleResult> results() const;

  // What was seen, sample by sample, in the same order; samples of which nothing was seen are left out.
  void each_seen(const std::function<void(const SampleResult& sample)>& take) const;

  const std::filesystem::path& path() const { return database_.path(); }

 private:
  class Lock;
  void begin(const RunIdentity& identity);
  void go_on(const RunIdentity& identity);
  void add_items(std::span<const RunItem> items);

  std::unique_ptr<Lock> lock_;
  Database database_;
  std::string settings_;  // JSON
  std::set<RunKey> done_;
};

}  // namespace buoy
