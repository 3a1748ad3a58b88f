#include "buoy/engine/attention_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "buoy/analysis/null_model.h"
#include "buoy/base/at.h"
#include "buoy/base/cancel.h"
#include "buoy/base/error.h"
#include "buoy/engine/run_observer.h"
#include "buoy/prompt/tokenized_prompt.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// Keeps the sequence before a step and what the step wrote, then stops the generation.
class StepCatcher : public GenerationObserver {
 public:
  StepCatcher(std::optional<Index> step, RunObserver* outer) : step_(step), outer_(outer) {}

  Tap* before_pass(std::span<const Pass> passes) override {
    if (passes[0].generation->steps == step_) tokens.assign(passes[0].tokens.begin(), passes[0].tokens.end());
    return nullptr;
  }
  void after_step(Index, const Generation& generation) override {
    if (generation.steps - 1 == step_) written = generation.just_committed;
    passed = generation.steps;
  }
  bool cancelled() const override {
    return (step_ && passed > *step_) || (outer_ != nullptr && outer_->cancelled());
  }

  std::vector<TokenId> tokens;
  std::vector<Index> written;
  Index passed = 0;

 private:
  std::optional<Index> step_;
  RunObserver* outer_;
};

// Asks one layer for its whole matrix.
class MatrixOfLayer : public Tap {
 public:
  MatrixOfLayer(Index layer, Implicit implicit) : layer_(layer) {
    request_.matrix = true;
    request_.implicit = implicit;
  }
  Plan plan(Index layer, Index) override { return {.request = layer == layer_ ? &request_ : nullptr}; }
  Next measured(Index, Index, const AttentionStats& stats) override {
    matrix = stats.matrix;
    return Next::kGoOn;
  }
  std::vector<float> matrix;  // [H, N, N]

 private:
  Index layer_;
  AttentionRequest request_;
};

// One head of [H, N, N], or the mean over them.
std::vector<float> choose_head(const std::vector<float>& matrix, Index H, std::optional<Index> head) {
  const std::size_t size = matrix.size() / at(H);
  if (head) {
    const auto first = matrix.begin() + static_cast<std::ptrdiff_t>(at(*head) * size);
    return {first, first + static_cast<std::ptrdiff_t>(size)};
  }
  std::vector<float> mean(size);
  for (std::size_t i = 0; i < size; ++i) {
    double sum = 0;
    for (Index h = 0; h < H; ++h) sum += matrix[at(h) * size + i];
    mean[i] = static_cast<float>(sum / static_cast<double>(H));
  }
  return mean;
}

void name_tokens(const LoadedModel& model, AttentionView& view) {
  const std::optional<Tokenizer>& tokenizer = model.find_tokenizer();
  for (const TokenId id : view.tokens) {
    if (!tokenizer) {
      view.texts.push_back(fmt::format("{}", id));
    } else if (id == model.config().mask_id) {
      view.texts.emplace_back("[mask]");
    } else {
      view.texts.push_back(tokenizer->contains(id) ? tokenizer->token_text(id)
                                                   : std::string(kReplacementCharacter));
    }
  }
  const auto known = [&](TokenId id) { return tokenizer->contains(id) || id == model.config().mask_id; };
  if (tokenizer && std::ranges::all_of(view.tokens, known)) {
    view.classes = classify(*tokenizer, view.tokens, role_ids(*tokenizer, model.config()));
  }
}

void check_settings(const AttentionViewSettings& settings, const ModelConfig& config) {
  const auto check = [](const char* what, Index value, Index count) {
    if (value < 0 || value >= count) {
      fail_usage("{} is {}, expected 0 to {}", what, value, count - 1);
    }
  };
  check("layer", settings.layer, config.L);
  if (settings.implicit != Implicit::kEnergy && config.layer(settings.layer).mixer == MixerKind::kAttention)
    fail_usage("implicit has no effect: layer {} has attention of its own", settings.layer);
  if (settings.head) check("head", *settings.head, config.H);
  if (settings.step && *settings.step < 0) fail_usage("step is {}, expected 0 or more", *settings.step);
}

}  // namespace

std::vector<Index> AttentionView::strongest_keys(Index count) const {
  std::vector<Index> keys(tokens.size());
  std::iota(keys.begin(), keys.end(), Index{0});
  std::ranges::stable_sort(keys, std::greater<>(), [&](Index key) { return received[at(key)]; });
  keys.resize(std::min(keys.size(), at(count)));
  return keys;
}

std::vector<Index> AttentionView::strongest_of(Index query, Index count) const {
  std::vector<Index> keys(tokens.size());
  std::iota(keys.begin(), keys.end(), Index{0});
  std::ranges::stable_sort(keys, std::greater<>(), [&](Index key) { return weight(query, key); });
  keys.resize(std::min(keys.size(), at(count)));
  while (!keys.empty() && weight(query, keys.back()) == 0) keys.pop_back();
  return keys;
}

AttentionView view_attention(const LoadedModel& model, const std::vector<TokenId>& prompt,
                             const SamplerSettings& sampler, const AttentionViewSettings& settings,
                             RunObserver* observer) {
  const ModelConfig& config = model.config();
  check_settings(settings, config);
  AttentionView view{.model = model.name(),
                     .layer = settings.layer,
                     .head = settings.head,
                     .step = settings.step,
                     .prompt_length = std::ssize(prompt),
                     .mask = generation_mask(sampler, config, std::ssize(prompt))};
  StepCatcher catcher(settings.step, observer);
  try {
    const std::vector<Generation> made = generate(model.model(), {{prompt}}, sampler, &catcher);
    view.steps = made[0].steps;
    if (!settings.step) catcher.tokens = made[0].tokens;
  } catch (const Cancelled&) {
    if (observer != nullptr && observer->cancelled()) throw;
  }
  if (catcher.tokens.empty()) {
    fail_usage("step is {}, expected 0 to {}: the generation had no more", *settings.step, view.steps - 1);
  }
  view.tokens = std::move(catcher.tokens);
  const Index N = view.N();
  for (const Index position : catcher.written) {  // an appended token comes from the last row
    view.writing.push_back(std::clamp<Index>(position - config.family->logit_shift, 0, N - 1));
  }
  if (N > kMaxViewTokens || N * N > kMaxMatrixElements / config.H) {
    fail("the sequence has {} tokens, more than the {} whose matrix can be looked at", N,
         std::min(kMaxViewTokens,
                  static_cast<Index>(std::sqrt(static_cast<double>(kMaxMatrixElements / config.H)))));
  }
  MatrixOfLayer tap(settings.layer, settings.implicit);
  const Index first = 0;  // a pass reads at least one row
  const ForwardSequence sequence{.ids = view.tokens, .read_rows = {&first, 1}, .mask = view.mask};
  model.model().forward({&sequence, 1}, &tap);
  view.weights = choose_head(tap.matrix, config.H, settings.head);
  view.received.assign(at(N), 0.0);
  for (Index q = 0; q < N; ++q) {
    for (Index k = 0; k < N; ++k) view.received[at(k)] += view.weight(q, k) / static_cast<double>(N);
  }
  view.null = uniform_received(view.mask, Rows::kAll, N);
  name_tokens(model, view);
  return view;
}

}  // namespace buoy
