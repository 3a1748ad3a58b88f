// Guesses in a trace: what the sampler proposed at each step, no more and no less.
#include <algorithm>

#include <gtest/gtest.h>

#include "buoy/base/at.h"
#include "buoy/base/testing.h"
#include "buoy/decode/sampler.h"
#include "buoy/model/transformer.h"
#include "buoy/run/recording_observer.h"

namespace buoy {
namespace {

const std::vector<std::vector<TokenId>> kGuessPrompts = {{11, 12, 13, 14, 15, 16, 17}, {21, 22, 23, 24}};

PromptLayout guess_layout(Index length) {
  PromptLayout layout;
  layout.regions.regions = {
      {.kind = RegionKind::kQuery}, {.kind = RegionKind::kAnswer}, {.kind = RegionKind::kTail}};
  layout.regions.of.assign(at(length), 0);
  layout.evidence.assign(at(length), 0);
  return layout;
}

struct Recorded {
  std::vector<Trace> traces;
  std::vector<Generation> made;
};

Recorded record_guesses(const std::string& name, const RecordSettings& what) {
  const std::unique_ptr<Backend> backend = make_reference_backend();
  const std::unique_ptr<Model> model = load_model(source_path("tests/goldens/" + name), *backend, {});
  SamplerSettings settings{.gen_length = 8};
  settings.ignore_eos = true;
  if (model->config().family->writing == Writing::kFillsMasks && model->config().block == 0)
    settings.steps = 4;
  std::vector<Recorder> recorders;
  for (const auto& prompt : kGuessPrompts) {
    ModelConfig config = model->config();
    config.mask = generation_mask(settings, config, std::ssize(prompt));
    recorders.emplace_back(config, what, guess_layout(std::ssize(prompt)));
  }
  RecordingObserver observer(recorders, {});
  Recorded recorded;
  recorded.made = generate(*model, kGuessPrompts, settings, &observer);
  for (std::size_t i = 0; i < recorders.size(); ++i) {
    recorders[i].begin_finished(recorded.made[i].tokens, {});
    RecorderTap tap;
    tap.recorders = {&recorders[i]};
    const Index first = 0;
    const ForwardSequence sequence{
        .ids = recorded.made[i].tokens, .read_rows = {&first, 1}, .mask = recorded.made[i].mask};
    model->forward({&sequence, 1}, &tap);
    recorded.traces.push_back(recorders[i].take());
  }
  return recorded;
}

TEST(Guesses, StandWhereMasksAreAndHoldWhatTheStepWrites) {
  for (const char* name : {"llada", "dream", "sdar"}) {
    const Recorded recorded = record_guesses(name, {});
    for (std::size_t i = 0; i < recorded.traces.size(); ++i) {
      const Trace& trace = recorded.traces[i];
      const Generation& made = recorded.made[i];
      const Index N = trace.N(), P = trace.prompt_length;
      ASSERT_EQ(std::ssize(trace.steps.guesses), trace.S() * N) << name;
      Index guessed = 0;
      for (Index t = 0; t < trace.S(); ++t) {
        for (Index p = 0; p < N; ++p) {
          const TokenId guess = trace.steps.guesses[at(t * N + p)];
          if (guess < 0) continue;
          ++guessed;
          EXPECT_EQ(trace.steps.tokens[at(t * N + p)], *trace.header.mask_id) << name << ": only of masks";
        }
      }
      EXPECT_GT(guessed, trace.G()) << name << ": open positions are proposed again and again";
      for (Index g = 0; g < trace.G(); ++g) {
        const Index t = made.commit_step[at(g)];
        EXPECT_EQ(trace.steps.guesses[at(t * N + P + g)], made.tokens[at(P + g)]) << name;
        EXPECT_EQ(trace.steps.guess_confidence[at(t * N + P + g)], static_cast<float>(made.confidence[at(g)]))
            << name;
      }
    }
  }
}

TEST(Guesses, AreOfTheRecordedStepsAlone) {
  RecordSettings every_other;
  every_other.steps.every = 2;
  const Trace all = record_guesses("llada", {}).traces[0],
              some = record_guesses("llada", every_other).traces[0];
  ASSERT_EQ(all.S(), 4);
  ASSERT_EQ(some.S(), 2);
  for (Index p = 0; p < all.N(); ++p)
    EXPECT_EQ(some.steps.guesses[at(all.N() + p)], all.steps.guesses[at(2 * all.N() + p)]);
}

TEST(Guesses, AreNotKeptOfModelsThatAppend) {
  const Trace trace = record_guesses("llama-gqa", {}).traces[0];
  EXPECT_TRUE(trace.steps.guesses.empty());
  EXPECT_TRUE(trace.steps.guess_confidence.empty());
}

}  // namespace
}  // namespace buoy
