// Which jobs an evaluation answers together, and what an answer depends on, with models that write at random.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "buoy/base/testing.h"
#include "buoy/io/json.h"
#include "buoy/io/test_support.h"
#include "buoy/model/test_support.h"
#include "buoy/run/eval.h"
#include "buoy/run/run_identity.h"
#include "buoy/run/run_summary.h"

namespace buoy {
namespace {

constexpr TokenId kFirstOfVariant[] = {100, 200};

// Two variants, each with a model of its own that finds all tokens equally likely. The prompts of a variant
// begin with a token that names it.
class Evaluation : public testing::Test {
 protected:
  Evaluation() : tokenizer_(Tokenizer::load(source_path("models/mini-mdm"))) {
    for (const ScriptedModel& model : models_) eval_.variants.push_back(source_of(model));
  }

  TraceSource source_of(const ScriptedModel& model) const {
    return {.model = model,
            .tokenizer = tokenizer_,
            .sampler = {.gen_length = 4, .temperature = 1, .seed = 7, .steps = 2}};
  }

  // Five items for each variant, those of the two in turn.
  static std::vector<EvalJob> jobs() {
    std::vector<EvalJob> all;
    for (Index number = 0; number < 5; ++number) {
      for (Index variant = 0; variant < 2; ++variant) {
        EvalJob job{.key = {"m", "set", "v" + std::to_string(variant), std::to_string(number)},
                    .number = number,
                    .variant = variant};
        job.example.prompt.ids = {kFirstOfVariant[variant], static_cast<TokenId>(300 + number)};
        all.push_back(std::move(job));
      }
    }
    return all;
  }

  std::map<RunKey, std::string> answers(std::vector<EvalJob> wanted, Index batch_size) {
    const TempDir directory;
    RunStore store(directory / "run.db", RunIdentity{.settings = Json::object()});
    evaluate(eval_, std::move(wanted), batch_size, store, {});
    std::map<RunKey, std::string> found;
    for (const SampleResult& r : store.results()) found[r.key] = r.answer;
    return found;
  }

  Tokenizer tokenizer_;
  ScriptedModel models_[2] = {ScriptedModel("llada", 1000), ScriptedModel("llada", 1000)};
  EvalModel eval_;
};

TEST_F(Evaluation, ABatchHasJobsOfOneVariantAndItsModelRunsThem) {
  ASSERT_EQ(answers(jobs(), 4).size(), 10u);
  for (std::size_t variant = 0; variant < 2; ++variant) {
    std::size_t most = 0;
    for (const auto& sequences : models_[variant].passes()) {
      most = std::max(most, sequences.size());
      for (const auto& ids : sequences) EXPECT_EQ(ids[0], kFirstOfVariant[variant]);
    }
    EXPECT_EQ(models_[variant].passes().size(), 4u)
        << "five jobs: a batch of four and one of one, two steps each";
    EXPECT_EQ(most, 4u);
  }
}

TEST_F(Evaluation, AnAnswerDependsNeitherOnTheBatchNorOnThePlaceInIt) {
  const std::map<RunKey, std::string> together = answers(jobs(), 4);
  EXPECT_EQ(answers(jobs(), 1), together);
  std::vector<EvalJob> reversed = jobs();
  std::ranges::reverse(reversed);
  EXPECT_EQ(answers(std::move(reversed), 3), together);
  std::set<std::string> different;
  for (const auto& [key, answer] : together) different.insert(answer);
  EXPECT_EQ(different.size(), 5u) << "items draw from streams of their own, variants from the same";
}

TEST_F(Evaluation, WhatIsStoredIsNotAnsweredAgain) {
  const TempDir directory;
  RunStore store(directory / "run.db", RunIdentity{.settings = Json::object()});
  std::vector<EvalJob> first = jobs();
  first.resize(6);
  evaluate(eval_, first, 4, store, {});
  const std::size_t before = models_[0].passes().size() + models_[1].passes().size();
  std::vector<Index> progress;
  evaluate(eval_, jobs(), 4, store, [&](Index done) { progress.push_back(done); });
  EXPECT_EQ(progress, (std::vector<Index>{2, 2}));
  EXPECT_EQ(models_[0].passes().size() + models_[1].passes().size(), before + 4);
  EXPECT_EQ(store.results().size(), 10u);
}

TEST(RunSummary, CountsSamplesByModelDataAndConditionWhileTheRunIsOpen) {
  const TempDir directory;
  RunStore store(directory / "run.db", RunIdentity{.settings = {{"steps", 4}}});
  const auto sample = [](const char* condition, const char* name, double em) {
    SampleResult result{.key = {"m", "set", condition, name}};
    result.score.em = em;
    return result;
  };
  const SampleResult results[] = {sample("given", "a", 1), sample("given", "b", 0), sample("none", "a", 0)};
  store.add(results);
  const RunSummary summary = summarize_run(directory / "run.db");
  EXPECT_EQ(summary.samples(), 3);
  ASSERT_EQ(summary.parts.size(), 2u);
  EXPECT_EQ(summary.parts[0].condition, "given");
  EXPECT_EQ(summary.parts[0].samples, 2);
  EXPECT_EQ(summary.parts[0].exact_match, 0.5);
  EXPECT_EQ(summary.parts[0].traced, 0);
  EXPECT_EQ(summary.parts[1].samples, 1);
  EXPECT_EQ(summary.settings, R"({"steps":4})");
}

}  // namespace
}  // namespace buoy
