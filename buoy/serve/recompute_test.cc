// Attention computed again, against the very passes that wrote: same rows, also under what a visitor changed.
#include "buoy/serve/recompute.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "buoy/base/at.h"
#include "buoy/base/testing.h"
#include "buoy/decode/sampler.h"
#include "buoy/io/json.h"
#include "buoy/model/capture.h"
#include "buoy/serve/http.h"

namespace buoy {
namespace {

struct GoldenModel {
  std::unique_ptr<Backend> backend = make_reference_backend();
  std::unique_ptr<Model> model;
  explicit GoldenModel(const std::string& name)
      : model(load_model(source_path("tests/goldens/" + name), *backend, {})) {}
  const ModelConfig& config() const { return model->config(); }
};

// Generates under changes and keeps, pass by pass, the sequence and the whole attention that was used.
class Witness : public GenerationObserver {
 public:
  Witness(const ModelConfig& config, std::vector<RunChange> changes)
      : config_(config), changes_(std::move(changes)) {}

  StepChange before_step(Index, const Generation& g) override {
    for (const RunChange& change : changes_) {
      if (change.step == g.steps && asked_ < g.steps) {
        asked_ = g.steps;
        return change.tokens;
      }
    }
    return {};
  }
  Tap* before_pass(std::span<const Pass> passes) override {
    const Pass& pass = passes[0];
    const Index N = std::ssize(pass.tokens);
    tokens.emplace_back(pass.tokens.begin(), pass.tokens.end());
    std::vector<Index> layers;
    for (Index l = 0; l < config_.L; ++l) layers.push_back(l);
    AttentionRequest request;
    request.matrix = true;
    used.emplace_back(at(config_.L));
    reader_.emplace(layers, request,
                    [this, N, first = pass.first_row](Index layer, const AttentionStats& stats) {
                      keep(layer, first, N, stats.matrix);
                    });
    change_.emplace(config_, in_force(changes_, pass.generation->steps), N, &*reader_);
    return &*change_;
  }

  // [passes][layer][{head, query}] → the row, as it stands at that pass
  std::vector<std::vector<std::map<std::pair<Index, Index>, std::vector<float>>>> used;
  std::vector<std::vector<TokenId>> tokens;  // [passes]

 private:
  void keep(Index layer, Index first, Index N, const std::vector<float>& matrix) {
    auto& rows = used.back()[at(layer)];
    if (used.size() > 1) rows = used[used.size() - 2][at(layer)];  // those that stand
    const Index T = N - first;
    for (Index h = 0; h < config_.H; ++h) {
      for (Index i = first; i < N; ++i) {
        const auto begin = matrix.begin() + (h * T + i - first) * N;
        rows[{h, i}].assign(begin, begin + N);
      }
    }
  }

  const ModelConfig& config_;
  std::vector<RunChange> changes_;
  Index asked_ = -1;
  std::optional<LayerTap> reader_;
  std::optional<ChangeTap> change_;
};

struct Scene {
  RunRecord run;
  Witness witness;
  Generation made;
};

Scene play(const GoldenModel& golden, const std::vector<TokenId>& prompt, const SamplerSettings& settings,
           const std::vector<RunChange>& changes) {
  Scene scene{.run = {}, .witness = Witness(golden.config(), changes), .made = {}};
  scene.made = generate(*golden.model, {{prompt}}, settings, &scene.witness)[0];
  const Generation& made = scene.made;
  Trace& trace = scene.run.trace;
  trace.header.writing = golden.config().family->writing;
  trace.header.mask = made.mask.block() == 0 ? golden.config().mask : made.mask;
  trace.header.H = golden.config().H;
  trace.header.model_layers = golden.config().L;
  trace.tokens = made.tokens;
  trace.prompt_length = made.prompt_length;
  for (Index l = 0; l < golden.config().L; ++l) trace.layers.push_back(l);
  for (std::size_t t = 0; t < scene.witness.tokens.size(); ++t) {
    trace.steps.steps.push_back(static_cast<Index>(t));
    trace.steps.lengths.push_back(std::ssize(scene.witness.tokens[t]));
    std::vector<TokenId> row = scene.witness.tokens[t];
    row.resize(made.tokens.size(), -1);
    trace.steps.tokens.insert(trace.steps.tokens.end(), row.begin(), row.end());
  }
  scene.run.changes = changes;
  return scene;
}

void expect_rows_as_used(const GoldenModel& golden, const Scene& scene, Index t, const char* what) {
  const Index layer = golden.config().L - 1, head = golden.config().H - 1, N = scene.run.length(t);
  for (Index p = 0; p < N; ++p) {
    const std::vector<float> row =
        attention_of(*golden.model, scene.run, {.t = t, .layer = layer, .head = head, .position = p});
    ASSERT_EQ(std::ssize(row), scene.run.N());
    const std::vector<float>& used = scene.witness.used[at(t)][at(layer)].at({head, p});
    for (std::size_t j = 0; j < row.size(); ++j)
      ASSERT_EQ(row[j], j < used.size() ? used[j] : 0.0f)
          << what << ", step " << t << ", " << p << " to " << j;
  }
}

const std::vector<TokenId> kPrompt = {5, 6, 7, 8, 9, 10};

SamplerSettings short_settings(const GoldenModel& golden) {
  SamplerSettings settings{.gen_length = golden.config().block > 0 ? 2 * golden.config().block : 4};
  settings.ignore_eos = golden.config().family->writing == Writing::kAppends;
  return settings;
}

TEST(Recompute, RowsAreThoseThatWereUsed) {
  for (const char* name : {"llada", "dream", "llama-gqa", "sdar", "fast-dllm-v2", "ssd-hybrid"}) {
    const GoldenModel golden(name);
    const Scene scene = play(golden, kPrompt, short_settings(golden), {});
    for (const Index t : {Index{0}, Index{2}}) expect_rows_as_used(golden, scene, t, name);
  }
}

TEST(Recompute, RowsUnderHiddenKeysAndCutHeadsAreThoseThatWereUsed) {
  for (const char* name : {"llada", "llama-gqa"}) {
    const GoldenModel golden(name);
    const RunChange change{.step = 2, .tokens = {}, .hide_keys = {1, 4}, .cut_heads = {{0, 1}}};
    const Scene scene = play(golden, kPrompt, short_settings(golden), {change});
    for (const Index t : {Index{1}, Index{2}, Index{3}}) expect_rows_as_used(golden, scene, t, name);
    const Index writing = golden.config().family->writing == Writing::kAppends ? scene.run.length(3) - 1 : 7;
    const auto row =
        attention_of(*golden.model, scene.run, {.t = 3, .layer = 0, .head = 0, .position = writing});
    EXPECT_EQ(row[1], 0.0f) << name;
    EXPECT_EQ(row[4], 0.0f) << name;
    EXPECT_GT(row[2], 0.0f) << name;
  }
}

TEST(Recompute, WhatAppendsComputesAllRowsAgainOnceATokenWasForced) {
  const GoldenModel golden("llama-gqa");
  const RunChange hide{.step = 1, .tokens = {}, .hide_keys = {2}, .cut_heads = {}};
  const RunChange force{.step = 2, .tokens = {.write = {{6, 11}}}, .hide_keys = {}, .cut_heads = {}};
  const Scene scene = play(golden, kPrompt, short_settings(golden), {hide, force});
  for (const Index t : {Index{0}, Index{1}, Index{2}, Index{3}})
    expect_rows_as_used(golden, scene, t, "forced");
  EXPECT_GT(scene.witness.used[1][0].at({0, 4})[2], 0.0f) << "a row from before the key was hidden";
  EXPECT_EQ(scene.witness.used[2][0].at({0, 4})[2], 0.0f) << "the same row, computed again";
}

TEST(Recompute, ColumnsAreTheRowsOtherWayAndTheMeanIsOverHeads) {
  const GoldenModel golden("llama-gqa");
  const Scene scene = play(golden, kPrompt, short_settings(golden), {});
  const Index t = 1, N = scene.run.length(t), H = golden.config().H;
  const auto column =
      attention_of(*golden.model, scene.run,
                   {.t = t, .layer = 1, .head = {}, .position = 3, .side = AttentionSide::kColumn});
  for (Index i = 0; i < N; ++i) {
    double mean = 0;
    for (Index h = 0; h < H; ++h) mean += scene.witness.used[at(t)][1].at({h, i})[3] / static_cast<double>(H);
    EXPECT_NEAR(column[at(i)], mean, 1e-7);
  }
  EXPECT_EQ(column.back(), 0.0f) << "a position that does not exist yet";
}

TEST(Recompute, LongSequencesWeightsFollowFromQueriesAndKeys) {
  for (const char* name : {"llada", "llama-gqa", "qwen3"}) {
    const GoldenModel golden(name);
    const RunChange change{.step = 1, .tokens = {}, .hide_keys = {2}, .cut_heads = {}};
    const Scene scene = play(golden, kPrompt, short_settings(golden), {change});
    for (const AttentionSide side : {AttentionSide::kRow, AttentionSide::kColumn}) {
      const AttentionQuestion question{.t = 2, .layer = 1, .head = 1, .position = 4, .side = side};
      const auto whole = attention_of(*golden.model, scene.run, question);
      const auto piecewise = attention_of(*golden.model, scene.run, question, {.matrix_elements = 1});
      for (std::size_t j = 0; j < whole.size(); ++j) EXPECT_NEAR(whole[j], piecewise[j], 1e-6) << name;
    }
  }
  const GoldenModel hybrid("ssd");
  const Scene scene = play(hybrid, kPrompt, short_settings(hybrid), {});
  EXPECT_THROW(attention_of(*hybrid.model, scene.run, {.t = 0, .layer = 0}, {.matrix_elements = 1}),
               HttpError);
}

TEST(Recompute, TheGridIsOnePairInAllLayersAndHeads) {
  const GoldenModel golden("llada");
  const Scene scene = play(golden, kPrompt, short_settings(golden), {});
  const auto grid = attention_grid(*golden.model, scene.run, 1, 7, 2);
  const Index L = golden.config().L, H = golden.config().H;
  ASSERT_EQ(std::ssize(grid), L * H);
  for (Index l = 0; l < L; ++l) {
    for (Index h = 0; h < H; ++h) EXPECT_EQ(grid[at(l * H + h)], scene.witness.used[1][at(l)].at({h, 7})[2]);
  }
  EXPECT_THROW(attention_grid(*golden.model, scene.run, 1, 7, 99), HttpError);
}

// Rows that stand when a key is hidden keep what they were computed with.
TEST(Recompute, CandidatesOfWhatAppendsAreThoseThatWereReadAfterAChangeToo) {
  const GoldenModel golden("llama-gqa");
  const RunChange change{.step = 2, .hide_keys = {0, 1, 2, 3}, .cut_heads = {{0, 1}}};
  SamplerSettings settings = short_settings(golden);
  settings.gen_length = 8;
  const Scene scene = play(golden, kPrompt, settings, {change});
  const Scene whole =
      play(golden, kPrompt, settings, {{.step = 0, .hide_keys = {0, 1, 2, 3}, .cut_heads = {{0, 1}}}});
  const Index P = std::ssize(kPrompt);
  for (Index t = 0; t < scene.run.S(); ++t) {
    const auto best = candidates_for(*golden.model, scene.run, t, P + t, 1);
    EXPECT_EQ(best[0].token, scene.run.trace.tokens[at(P + t)]) << "step " << t;
    EXPECT_NEAR(best[0].probability, scene.made.confidence[at(t)], 1e-6) << "step " << t;
  }
  EXPECT_GT(std::abs(whole.made.confidence[3] - scene.made.confidence[3]), 1e-4) << "it matters since when";
}

TEST(Recompute, TheCandidateOfAStepThatIsSurestIsWhatItWrites) {
  for (const char* name : {"llada", "dream", "llama-gqa", "sdar", "fast-dllm-v2"}) {
    const GoldenModel golden(name);
    SamplerSettings settings = short_settings(golden);
    if (std::string(name) == "llada") settings.cfg_scale = 0.7;
    if (std::string(name) == "dream") settings.alg = DreamAlgorithm::kMaskgitPlus;
    Scene scene = play(golden, kPrompt, settings, {});
    scene.run.trace.header.settings = Json{{"sampler", to_json(settings, golden.config())}}.dump();
    for (Index t = 0; t + 1 < scene.run.S(); ++t) {
      const auto before = scene.run.tokens(t), after = scene.run.tokens(t + 1);
      for (std::size_t p = kPrompt.size(); p < after.size(); ++p) {
        if (after[p] == golden.config().mask_id || (p < before.size() && before[p] == after[p])) continue;
        const auto best = candidates_for(*golden.model, scene.run, t, static_cast<Index>(p), 3);
        EXPECT_EQ(best[0].token, after[p]) << name << ", step " << t << ", position " << p;
        EXPECT_GE(best[0].probability, best[1].probability);
      }
    }
  }
}

}  // namespace
}  // namespace buoy
