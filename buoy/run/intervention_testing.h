// A bundled model under interventions, with the whole attention matrices that it used.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "buoy/analysis/null_model.h"
#include "buoy/base/testing.h"
#include "buoy/decode/autoregressive.h"
#include "buoy/decode/masked_diffusion.h"
#include "buoy/intervene/intervener.h"
#include "buoy/model/transformer.h"
#include "buoy/run/tracer.h"

namespace buoy {

// The attention that was used: per pass, sample and layer, [H, T, N].
using PassMatrices = std::map<std::pair<Index, Index>, std::vector<float>>;

class MatrixTap : public Tap {
 public:
  Plan plan(Index, Index) override { return {.request = &request_}; }
  Next measured(Index layer, Index sequence, const AttentionStats& stats) override {
    matrices[{sequence, layer}] = stats.matrix;
    return Next::kGoOn;
  }
  bool may_ask_again() const override { return false; }
  PassMatrices matrices;

 private:
  AttentionRequest request_ = [] {
    AttentionRequest all;
    all.matrix = true;
    return all;
  }();
};

class MatrixObserver : public GenerationObserver {
 public:
  Tap* before_pass(std::span<const Pass> passes) override {
    finish_pass();
    tokens.emplace_back(passes[0].tokens.begin(), passes[0].tokens.end());
    return &tap_;
  }
  void finish_pass() {
    if (!tap_.matrices.empty()) steps.push_back(std::exchange(tap_.matrices, {}));
  }
  std::vector<PassMatrices> steps;
  std::vector<std::vector<TokenId>> tokens;  // of sample 0, before each pass

 private:
  MatrixTap tap_;
};

class IntervenedPair : public testing::TestWithParam<const char*> {
 protected:
  IntervenedPair()
      : directory_(source_path("models") / GetParam()),
        backend_(make_cpu_backend({.threads = 2})),
        model_(directory_, *backend_, {}),
        tokenizer_(Tokenizer::load(directory_)) {
    const std::vector<QaItem> items = read_dataset(source_path("data/micro_test.jsonl"), {.limit = 2});
    const PromptTemplate micro = PromptTemplate::find("micro");
    for (QaItem item : items) {
      while (item.passages.size() > 2) item.passages.erase(item.passages.begin());
      examples_.push_back({.prompt = tokenize_prompt(tokenizer_, micro.render(item), nullptr), .item = item});
    }
  }

  bool causal() const { return model_.config().family->writing == Writing::kAppends; }
  Index H() const { return model_.config().H; }

  std::vector<Generation> generate(std::span<const std::vector<TokenId>> prompts,
                                   GenerationObserver* observer, SampleStreams streams) const {
    return buoy::generate(model_, prompts, sampler(), observer, streams);
  }

  SamplerSettings sampler() const {
    SamplerSettings settings;
    settings.gen_length = causal() ? 6 : 8;
    settings.steps = 4;
    settings.ignore_eos = true;
    return settings;
  }

  std::vector<Generation> run(const InterventionSettings* settings, GenerationObserver* watching) const {
    std::vector<const TokenizedPrompt*> prompts;
    std::vector<std::vector<TokenId>> ids;
    for (const TraceExample& e : examples_) {
      prompts.push_back(&e.prompt);
      ids.push_back(e.prompt.ids);
    }
    if (settings == nullptr) return generate(ids, watching, {});
    Intervener intervener(model_, tokenizer_, *settings, prompts, {}, watching);
    return generate(ids, &intervener, {});
  }

  std::vector<TracedSample> trace(const InterventionSettings* settings) const {
    return trace_by(model_, settings, examples_, 0);
  }

  // The same by a model of its own, on so many threads; the first of `examples` draws from stream `first`.
  std::vector<TracedSample> trace_with(const InterventionSettings* settings,
                                       std::span<const TraceExample> examples, int threads,
                                       Index first) const {
    const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = threads});
    return trace_by(Transformer(directory_, *backend, {}), settings, examples, first);
  }

  std::vector<TracedSample> trace_by(const Model& model, const InterventionSettings* settings,
                                     std::span<const TraceExample> examples, Index first) const {
    const TraceSource source{.model = model,
                             .tokenizer = tokenizer_,
                             .sampler = sampler(),
                             .record = {},
                             .name = GetParam(),
                             .model_hash = "",
                             .tokenizer_hash = "",
                             .buoy_version = "",
                             .settings = "{}",
                             .intervention = settings};
    return trace_batch(source, examples, first);
  }

  // Mean over `heads` of what each key receives, from a matrix [H, N, N].
  std::vector<double> received(std::span<const float> matrix, Index N, std::span<const Index> heads) const {
    std::vector<double> sums(static_cast<std::size_t>(N), 0.0);
    const Index T = std::ssize(matrix) / (H() * N);
    for (const Index h : heads) {
      for (Index t = 0; t < T; ++t) {
        for (Index j = 0; j < N; ++j) {
          sums[static_cast<std::size_t>(j)] += double{matrix[static_cast<std::size_t>((h * T + t) * N + j)]};
        }
      }
    }
    for (double& s : sums) s /= static_cast<double>(N) * static_cast<double>(heads.size());
    return sums;
  }

  // Keys that no query of the head gives anything to.
  std::set<Index> empty_columns(std::span<const float> matrix, Index N, Index h) const {
    const Index T = std::ssize(matrix) / (H() * N);
    std::set<Index> empty;
    for (Index j = 0; j < N; ++j) {
      bool all = true;
      for (Index t = 0; t < T; ++t)
        all = all && matrix[static_cast<std::size_t>((h * T + t) * N + j)] == 0.0f;
      if (all) empty.insert(j);
    }
    return empty;
  }

  // Attention of a plain pass over `tokens`.
  PassMatrices plain(std::span<const TokenId> tokens) const {
    MatrixTap tap;
    const Index first = 0;
    const ForwardSequence sequence{.ids = tokens, .read_rows = {&first, 1}};
    model_.forward({&sequence, 1}, &tap);
    return std::move(tap.matrices);
  }

  std::set<Index> largest_excess(const std::vector<double>& r, std::size_t k) const {
    const std::vector<double> null = uniform_received(model_.config().mask, Rows::kAll, std::ssize(r));
    std::vector<std::pair<double, Index>> order;
    for (std::size_t j = 0; j < r.size(); ++j) order.emplace_back(null[j] - r[j], static_cast<Index>(j));
    std::ranges::sort(order);
    std::set<Index> keys;
    for (std::size_t i = 0; i < k; ++i) keys.insert(order[i].second);
    return keys;
  }

  std::vector<Index> all_heads() const {
    std::vector<Index> heads;
    for (Index h = 0; h < H(); ++h) heads.push_back(h);
    return heads;
  }

  static InterventionSettings settings_of(const std::string& text) {
    return parse_intervention(text).front();
  }

  std::filesystem::path directory_;
  std::unique_ptr<Backend> backend_;
  Transformer model_;
  Tokenizer tokenizer_;
  std::vector<TraceExample> examples_;
};

}  // namespace buoy
