// Runs through the engine, without a command line: identity by content, stopping and going on.
#include <gtest/gtest.h>

#include "buoy/base/cancel.h"
#include "buoy/base/testing.h"
#include "buoy/engine/evaluation.h"
#include "buoy/engine/trace_run.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

RunSettings small_run(const fs::path& output) {
  RunSettings run;
  run.models = {source_path("models/mini-mdm").string()};
  run.device = {.device = Device::kCpu, .threads = 1};
  run.data = {.files = {source_path("data/micro_test.jsonl")}, .format = {}, .limit = 3};
  run.sampler.gen_length = 4;
  run.sampler.steps = 2;
  run.batch_size = 1;
  run.output = output;
  return run;
}

Json described(const RunSettings& run) {
  Json json = describe_run(run);
  json["data"] = describe_data(read_data(run.data, run.places, {}));
  return json;
}

// Stops after so many passes.
class Stopping : public RunObserver {
 public:
  explicit Stopping(int passes) : left_(passes) {}
  bool cancelled() const override { return left_-- <= 0; }
  void advance(Index by) override { done += by; }
  void kept(const std::string& what) override { last_kept = what; }
  Index done = 0;
  std::string last_kept;

 private:
  mutable int left_;
};

TEST(DescribeRun, DependsOnContentNotOnWhereThingsLie) {
  const TempDir directory;
  const RunSettings here = small_run(directory.path());
  RunSettings there = here;
  fs::copy(source_path("models/mini-mdm"), directory / "mini-mdm");
  fs::copy(source_path("data/micro_test.jsonl"), directory / "micro_test.jsonl");
  there.models = {(directory / "mini-mdm").string()};
  there.data.files = {directory / "micro_test.jsonl"};
  there.batch_size = 2;
  EXPECT_EQ(described(here), described(there));
  EXPECT_EQ(hash_of(described(here)), hash_of(described(there)));
}

TEST(DescribeRun, SeesWhatDecidesAnAnswer) {
  const TempDir directory;
  const fs::path model = directory / "mini-mdm", prompt = directory / "prompt.txt";
  fs::copy(source_path("models/mini-mdm"), model);
  write_file_atomically(prompt, "Question: {question}\n");
  RunSettings run = small_run(directory.path());
  run.models = {model.string()};
  run.prompt.prompt_template = prompt.string();
  std::set<std::string> hashes{hash_of(described(run))};
  const auto expect_new = [&](const char* what) {
    EXPECT_TRUE(hashes.insert(hash_of(described(run))).second) << what;
  };
  write_file_atomically(prompt, "Question:  {question}\n");
  expect_new("an edited template");
  write_file_atomically(model / "chat_template.jinja", "{{ messages[0].content }}");
  expect_new("a chat template");
  run.prompt.date = "2026-01-31";
  EXPECT_THROW(described(run), UsageError) << "a date that no template asks for";
  write_file_atomically(model / "chat_template.jinja", "{{ strftime_now('%d') }}{{ messages[0].content }}");
  expect_new("a chat template with a date");
  run.prompt.date = "2026-02-01";
  expect_new("another date");
  run.prompt.chat = Chat::kOff;
  EXPECT_THROW(described(run), UsageError) << "a date, and no chat template";
  run.prompt.date.reset();
  expect_new("no chat template");
  run.sampler.steps = 4;
  expect_new("the sampler");
  run.data.limit = 2;
  expect_new("the limit");
  run.prompt.answer_end = AnswerEnd::kNone;
  expect_new("where an answer ends");
  run.device = {.device = Device::kReference};
  expect_new("the device");
  const std::string data = read_file(source_path("data/micro_test.jsonl"));
  write_file_atomically(directory / "micro_test.jsonl", data);
  run.data.files = {directory / "micro_test.jsonl"};
  EXPECT_FALSE(hashes.insert(hash_of(described(run))).second) << "the same items elsewhere";
  std::string edited = data;
  edited.replace(edited.find("\"question\":\"") + 12, 1, "w");
  write_file_atomically(directory / "micro_test.jsonl", edited);
  expect_new("an edited item");
}

TEST(Evaluation, StopsBetweenPassesAndGoesOnWithTheSameAnswers) {
  const TempDir directory;
  const std::unique_ptr<Ranks> alone = Ranks::alone();
  EvaluationSettings settings{.run = small_run(directory / "whole"), .passages = {"none"}};
  RunObserver silent;
  const auto whole = run_evaluation(*alone, settings, silent);

  settings.run.output = directory / "stopped";
  Stopping stopping(3);  // two passes answer the first of three items
  EXPECT_THROW(run_evaluation(*alone, settings, stopping), Cancelled);
  EXPECT_EQ(stopping.done, 1);
  EXPECT_EQ(stopping.last_kept, "1 sample in " + (directory / "stopped").string());
  Stopping counting(1000);
  const auto resumed = run_evaluation(*alone, settings, counting);
  ASSERT_EQ(resumed->results.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(resumed->results[i].answer, whole->results[i].answer);
    EXPECT_EQ(resumed->results[i].key, whole->results[i].key);
  }
}

TEST(Evaluation, RunsAConditionOnceThatNoItemTellsFromAnother) {
  const TempDir directory;
  EvaluationSettings settings;
  settings.run = small_run(directory / "out");
  settings.run.data.files = {source_path("data/micro_known_closed.jsonl")};  // no item has passages
  Stopping observer(1000);
  const auto made = run_evaluation(*Ranks::alone(), settings, observer);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->results.size(), 3U);
  for (const SampleResult& r : made->results) EXPECT_EQ(r.key.condition, "none");
}

TEST(Traces, AreKeptWhereARunWasStopped) {
  const TempDir directory;
  const RunSettings run = small_run({});
  TraceRunSettings settings{.model = run.model(run.models[0], 0),
                            .sampler = run.sampler,
                            .record = {},
                            .prompt = {},
                            .data = run.data,
                            .prompts = {},
                            .batch_size = 1,
                            .output = directory / "traces"};
  Stopping stopping(3);
  EXPECT_THROW(run_traces(*Ranks::alone(), settings, stopping), Cancelled);
  EXPECT_EQ(stopping.last_kept, "1 of 3 traces in " + (directory / "traces").string());
  const auto traces = [&] {
    return std::distance(fs::directory_iterator(directory / "traces"), fs::directory_iterator());
  };
  EXPECT_EQ(traces(), 1);
  RunObserver silent;
  Stopping at_once(1);
  EXPECT_THROW(run_traces(*Ranks::alone(), settings, at_once), Cancelled);
  EXPECT_EQ(at_once.last_kept, stopping.last_kept) << "what was there is kept";
  run_traces(*Ranks::alone(), settings, silent);
  EXPECT_EQ(traces(), 3);
  settings.sampler.steps = 4;
  EXPECT_THROW(run_traces(*Ranks::alone(), settings, silent), Error)
      << "traces of other settings are not replaced";
}

}  // namespace
}  // namespace buoy
