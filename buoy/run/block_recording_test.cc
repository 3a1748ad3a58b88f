// What is recorded of block families: the same bits with and without the cache, and what whole passes say.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "buoy/analysis/null_model.h"
#include "buoy/base/at.h"
#include "buoy/base/testing.h"
#include "buoy/decode/sampler.h"
#include "buoy/model/transformer.h"
#include "buoy/probe/trace_arrays.h"
#include "buoy/run/recording_observer.h"

namespace buoy {
namespace {

constexpr double kNearEnough = 2e-5;

struct RecordedCase {
  const char *model, *family;
  Index block;
  std::optional<double> threshold;
};

const RecordedCase kRecordedCases[] = {{"sdar", "", 4, 0.6},
                                       {"llada2-moe", "", 8, 0.6},
                                       {"stable-diffcoder", "", 4, 0.5},
                                       {"fast-dllm-v2", "", 8, 0.5},
                                       {"sdar-moe", "", 4, 0.6},
                                       {"a2d-qwen3", "a2d-qwen3-bd3lm", 8, std::nullopt}};

// One prompt ends inside a block; the other is whole blocks.
const std::vector<std::vector<TokenId>> kPrompts = {{11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21},
                                                    {21, 22, 23, 24, 25, 26, 27, 28}};

PromptLayout layout_of(Index length) {
  PromptLayout layout;
  layout.regions.regions = {{.kind = RegionKind::kBos},
                            {.kind = RegionKind::kDocument, .document = 1, .gold = true},
                            {.kind = RegionKind::kQuery},
                            {.kind = RegionKind::kAnswer},
                            {.kind = RegionKind::kTail}};
  for (Index p = 0; p < length; ++p) layout.regions.of.push_back(p == 0 ? 0 : p < 6 ? 1 : 2);
  layout.evidence.assign(at(length), 0);
  layout.evidence[3] = 1;
  return layout;
}

SamplerSettings settings_of(const RecordedCase& c) {
  SamplerSettings s{.gen_length = 16};
  s.block_length = c.block;
  s.threshold = c.threshold;
  s.ignore_eos = true;
  return s;
}

std::vector<Trace> record(const Transformer& model, const RecordedCase& c, BlockCache cache,
                          const RecordSettings& what) {
  std::vector<Recorder> recorders;
  const SamplerSettings settings = settings_of(c);
  for (const auto& prompt : kPrompts) {
    ModelConfig config = model.config();
    config.mask = generation_mask(settings, config, std::ssize(prompt));
    recorders.emplace_back(config, what, layout_of(std::ssize(prompt)));
  }
  RecordingObserver observer(recorders, {});
  BlockOptions options = block_options(settings, model.config());
  options.cache = cache;
  const auto made = generate_blocks(model, kPrompts, options, &observer);
  std::vector<Trace> traces;
  for (std::size_t i = 0; i < made.size(); ++i) {
    RecorderTap tap;
    tap.recorders = {&recorders[i]};
    recorders[i].begin_finished(made[i].tokens, {});
    const Index first = 0;
    const ForwardSequence sequence{.ids = made[i].tokens, .read_rows = {&first, 1}, .mask = made[i].mask};
    model.forward({&sequence, 1}, &tap);
    traces.push_back(recorders[i].take());
    traces.back().token_texts.assign(made[i].tokens.size(), "x");
    traces.back().classes.assign(made[i].tokens.size(), TokenClass::kContent);
    traces.back().commit_step = made[i].commit_step;
    traces.back().confidence = made[i].confidence;
  }
  return traces;
}

constexpr RecordSettings everything() {
  return {.heads = HeadDetail::kPerHead, .keys = true, .experts = true};
}

void expect_same_arrays(const Trace& a, const Trace& b, const char* what) {
  EXPECT_EQ(a.steps.steps, b.steps.steps) << what;
  EXPECT_EQ(a.tokens, b.tokens) << what;
  for (const TraceArray& array : trace_arrays()) {
    array.visit(a, [&](const auto& values) {
      using Values = std::remove_cvref_t<decltype(values)>;
      EXPECT_EQ(values, *std::get<Values*>(array.place(const_cast<Trace&>(b)))) << what << " " << array.name;
    });
  }
}

// The fast one where there is one: what is compared is bits with bits, and passes with passes.
std::unique_ptr<Backend> any_backend() {
  return has_cpu_backend() ? make_cpu_backend({.threads = 2}) : make_reference_backend();
}

class BlockRecording : public testing::TestWithParam<RecordedCase> {};

TEST_P(BlockRecording, IsTheSameBitsWithAndWithoutTheCache) {
  const auto backend = any_backend();
  const RecordedCase& c = GetParam();
  const Transformer model(source_path("tests/goldens") / c.model, *backend, {}, c.family);
  for (RecordSettings what : {everything(), RecordSettings{.steps = parse_steps("every:3")}}) {
    const auto kept = record(model, c, BlockCache::kKept, what);
    const auto whole = record(model, c, BlockCache::kNone, what);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      check_trace(kept[i], "recorded");
      expect_same_arrays(kept[i], whole[i], c.model);
    }
  }
}

// One pass over what a step saw, all rows at once.
struct WholePass : Tap {
  WholePass() { request.matrix = request.qk_means = true; }
  Plan plan(Index, Index) override { return {.request = &request}; }
  Next measured(Index, Index, const AttentionStats& s) override {
    stats.push_back(s);
    return Next::kGoOn;
  }
  bool wants_routing() const override { return true; }
  void routed(Index layer, Index, const RoutedRows& r) override {
    if (std::ssize(experts) <= layer) experts.resize(at(layer + 1));
    experts[at(layer)].assign(r.experts.begin(), r.experts.end());
  }
  AttentionRequest request;
  std::vector<AttentionStats> stats;               // [L]
  std::vector<std::vector<std::int32_t>> experts;  // [L]
};

// Received attention, flow and mean scores of step t, from whole matrices in plain loops.
void expect_step(const Transformer& model, const Trace& trace, Index t) {
  const Index N = trace.N(), n = trace.steps.lengths[at(t)], H = trace.H(), R = trace.R();
  const auto tokens = std::span(trace.steps.tokens).subspan(at(t * N), at(n));
  WholePass pass;
  std::vector<Index> rows(at(n));
  std::iota(rows.begin(), rows.end(), 0);
  const ForwardSequence sequence{.ids = tokens, .read_rows = rows, .mask = trace.header.mask};
  model.forward({&sequence, 1}, &pass);
  std::vector<Index> of = trace.regions.of;
  std::fill(of.begin() + trace.prompt_length, of.end(), trace.regions.find(RegionKind::kAnswer));
  const auto read = std::span(trace.steps.read).subspan(at(t * N), at(n));
  const double read_rows = std::accumulate(read.begin(), read.end(), 0.0);
  for (Index l = 0; l < trace.L(); ++l) {
    std::vector<double> all(at(n)), some(at(n)), flow(at(R * R)), region_rows(at(R)), score(at(n));
    for (Index i = 0; i < n; ++i) region_rows[at(of[at(i)])] += 1;
    for (Index h = 0; h < H; ++h) {
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
          const double a = pass.stats[at(l)].matrix[at((h * n + i) * n + j)];
          all[at(j)] += a / static_cast<double>(H * n);
          if (read[at(i)] == 1) some[at(j)] += a / (static_cast<double>(H) * read_rows);
          flow[at(of[at(i)] * R + of[at(j)])] += a / (static_cast<double>(H) * region_rows[at(of[at(i)])]);
        }
      }
      for (Index j = 0; j < n; ++j)
        score[at(j)] += pass.stats[at(l)].score_means[at(h * n + j)] / static_cast<double>(H);
    }
    const Index row = t * trace.L() + l;
    double largest = 0;
    for (const double s : score) largest = std::max(largest, std::abs(s));
    for (Index j = 0; j < n; ++j) {
      ASSERT_NEAR(trace.steps.received[at(row * N + j)], all[at(j)], kNearEnough) << t << " " << l;
      ASSERT_NEAR(trace.steps.received_read[at(row * N + j)], some[at(j)], kNearEnough) << t << " " << l;
      ASSERT_NEAR(trace.steps.score_means[at(row * N + j)], score[at(j)], kNearEnough * largest);
    }
    for (Index j = n; j < N; ++j) ASSERT_EQ(trace.steps.received[at(row * N + j)], 0);
    for (std::size_t f = 0; f < flow.size(); ++f)
      ASSERT_NEAR(trace.steps.flow[at(row * R * R) + f], flow[f], kNearEnough) << t << " " << l;
    if (trace.X() == 0 || std::ssize(pass.experts) <= l || pass.experts[at(l)].empty()) continue;
    for (Index e = 0; e < n * trace.X(); ++e) {
      const std::int32_t expert = trace.steps.experts[at(row * N * trace.X() + e)];
      if (expert >= 0) {
        ASSERT_EQ(expert, pass.experts[at(l)][at(e)]) << t << " " << l;
      }
    }
  }
}

TEST_P(BlockRecording, IsWhatWholePassesSay) {
  const auto backend = any_backend();
  const RecordedCase& c = GetParam();
  const Transformer model(source_path("tests/goldens") / c.model, *backend, {}, c.family);
  for (const Trace& trace : record(model, c, BlockCache::kKept, everything())) {
    ASSERT_GT(trace.S(), 4);
    for (Index t = 0; t < trace.S(); t += 4) expect_step(model, trace, t);
    // Blocks are added one after the other, and read rows see all there is: the null of both follows.
    const Trace null = null_trace(trace);
    for (Index t = 0; t < trace.S(); ++t) {
      const Index n = trace.steps.lengths[at(t)];
      EXPECT_EQ(trace.header.mask.visible_keys(n - 1, trace.N()), n);
      EXPECT_FLOAT_EQ(null.steps.received_read[at(t * trace.L() * trace.N())],
                      static_cast<float>(1 / static_cast<double>(n)));
    }
    EXPECT_TRUE(std::ranges::is_sorted(trace.steps.lengths));
    EXPECT_LT(trace.steps.lengths.front(), trace.steps.lengths.back());
    EXPECT_FALSE(trace.steps.received_frozen.empty());
  }
}

std::string name_of_case(const testing::TestParamInfo<RecordedCase>& info) {
  std::string name = info.param.model;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Families, BlockRecording, testing::ValuesIn(kRecordedCases), name_of_case);

}  // namespace
}  // namespace buoy
