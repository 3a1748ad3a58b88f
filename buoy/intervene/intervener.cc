#include "buoy/intervene/intervener.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "buoy/analysis/null_model.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

// Column sums of so many rows to the share that each key receives.
std::vector<float> shares(std::span<const float> sums, Index rows) {
  std::vector<float> received(sums.begin(), sums.end());
  for (float& v : received) v /= static_cast<float>(rows);
  return received;
}

// The same for more keys than there were: those that are new have received nothing.
std::vector<float> widened(std::span<const float> received, Index H, Index N) {
  std::vector<float> wide(static_cast<std::size_t>(H * N), 0.0f);
  const Index old = std::ssize(received) / H;
  for (Index h = 0; h < H; ++h) {
    std::ranges::copy(received.subspan(static_cast<std::size_t>(h * old), static_cast<std::size_t>(old)),
                      wide.begin() + h * N);
  }
  return wide;
}

// Of the last `rows` of T.
AttentionRequest column_sums_of(Index rows, Index T) {
  AttentionRequest request;
  request.query_groups.assign(static_cast<std::size_t>(T), -1);
  std::fill(request.query_groups.end() - rows, request.query_groups.end(), std::int8_t{0});
  request.group_count = 1;
  return request;
}

// What keys receive on average from the rows from `first` on when each of them attends evenly.
std::vector<double> uniform_from(const Mask& mask, Index first, Index N) {
  if (first == 0) return uniform_received(mask, Rows::kAll, N);
  std::vector<double> received(static_cast<std::size_t>(N), 0.0);
  for (Index row = first; row < N; ++row) {  // one entry for all keys that it sees, spread out below
    const Index visible = mask.visible_keys(row, N);
    received[static_cast<std::size_t>(visible - 1)] += 1 / static_cast<double>(visible * (N - first));
  }
  for (Index j = N - 2; j >= 0; --j) {
    received[static_cast<std::size_t>(j)] += received[static_cast<std::size_t>(j + 1)];
  }
  return received;
}

// Keeps what keys receive in the named layers of a plain pass.
class LookingTap : public Tap {
 public:
  struct Sequence {
    AttentionRequest request;
    std::vector<std::vector<float>> received;  // [L] of [H, N]
  };
  LookingTap(const InterventionSite& site, std::vector<Sequence> all)
      : sequences(std::move(all)), site_(site) {}

  Plan plan(Index layer, Index sequence) override {
    return {.request =
                site_.has_layer(layer) ? &sequences[static_cast<std::size_t>(sequence)].request : nullptr};
  }
  Next measured(Index layer, Index sequence, const AttentionStats& stats) override {
    Sequence& s = sequences[static_cast<std::size_t>(sequence)];
    s.received[static_cast<std::size_t>(layer)] =
        shares(stats.column_sums, std::ssize(s.request.query_groups));
    return Next::kGoOn;
  }
  bool may_ask_again() const override { return false; }

  std::vector<Sequence> sequences;

 private:
  const InterventionSite& site_;
};

}  // namespace

struct Intervener::Sample {
  const TokenizedPrompt* prompt = nullptr;
  std::uint32_t stream = 0;
  SampleMemory memory;

  // Of the pass that is about to run.
  Index step = 0, N = 0;
  bool acts = false;
  std::span<const TokenId> tokens;
  Mask mask;
  std::vector<TokenClass> classes;
  std::vector<KeyPlace> places;
  std::vector<std::int8_t> evidence;
  std::vector<double> null;
  std::vector<std::vector<float>> unmodified, previous;  // [L] of [H, N]; empty where not asked for

  // Of the layer that is running.
  AttentionRequest counted;  // the rows that correct() goes by
  Index counted_rows = 0;    // and how many they are, with those that stand
  LayerChange change;
  Index round = 0;
  bool correcting = false;

  // Column sums over the rows that earlier passes computed, [L] of [H, N then]; where rows add up.
  std::vector<std::vector<float>> past;
  bool has_past = false;
};

class Intervener::ChangingTap : public Tap {
 public:
  ChangingTap(const Intervener& owner, std::vector<Sample*> samples, Tap* inner)
      : owner_(owner), samples_(std::move(samples)), inner_(inner) {}

  Plan plan(Index layer, Index sequence) override {
    Plan plan = inner_ != nullptr ? inner_->plan(layer, sequence) : Plan{};
    if (sequence >= std::ssize(samples_)) return plan;
    Sample& s = *samples_[static_cast<std::size_t>(sequence)];
    const Intervention& kind = *owner_.settings_.kind;
    if (s.round == 0) prepare(s, layer);
    if (kind.correct != nullptr && s.correcting) plan.request = &s.counted;
    plan.key_bias = s.change.key_bias;
    plan.head_gain = s.change.head_gain;
    return plan;
  }

  Next measured(Index layer, Index sequence, const AttentionStats& stats) override {
    if (sequence >= std::ssize(samples_)) return inner_->measured(layer, sequence, stats);
    Sample& s = *samples_[static_cast<std::size_t>(sequence)];
    if (!s.correcting) {
      s.round = 0;
      return inner_->measured(layer, sequence, stats);
    }
    std::vector<float> sums = stats.column_sums;
    if (s.has_past) {
      const std::vector<float> past = widened(s.past[static_cast<std::size_t>(layer)], H(), s.N);
      std::ranges::transform(sums, past, sums.begin(), std::plus<>());
    }
    const std::vector<float> received = shares(sums, s.counted_rows);
    const LayerView view = view_of(s, layer, received);
    const bool again = owner_.settings_.kind->correct(view, s.round, s.memory, s.change);
    ++s.round;
    if (again) return Next::kAgain;
    if (s.has_past) s.past[static_cast<std::size_t>(layer)] = std::move(sums);
    s.memory.doses[static_cast<std::size_t>(layer)] += s.change.dose;
    s.correcting = false;
    // Once more under the same change, for the one who watches.
    if (inner_ != nullptr && inner_->plan(layer, sequence).request != nullptr) return Next::kAgain;
    s.round = 0;
    return Next::kGoOn;
  }

  bool may_ask_again() const override {
    return owner_.settings_.kind->correct != nullptr || (inner_ != nullptr && inner_->may_ask_again());
  }
  Addition add(Index depth, Index sequence) override {
    return inner_ != nullptr ? inner_->add(depth, sequence) : Addition{};
  }
  bool wants_routing() const override { return inner_ != nullptr && inner_->wants_routing(); }
  void routed(Index layer, Index sequence, const RoutedRows& routed) override {
    inner_->routed(layer, sequence, routed);
  }
  bool wants_hidden() const override { return inner_ != nullptr && inner_->wants_hidden(); }
  void hidden(Index depth, Backend& backend, const Tensor& rows) override {
    inner_->hidden(depth, backend, rows);
  }

 private:
  Index H() const { return owner_.model_.config().H; }

  // What the intervention may go by: this pass without changes, or the one before.
  std::vector<float> looked_at(const Sample& s, Index layer) const {
    const bool before = owner_.settings_.from == AnchorsFrom::kPreviousStep;
    const auto& received = before ? s.previous : s.unmodified;
    if (received.empty()) return {};
    return widened(received[static_cast<std::size_t>(layer)], H(), s.N);
  }

  LayerView view_of(const Sample& s, Index layer, std::span<const float> received) const {
    return {.settings = owner_.settings_,
            .rows = owner_.model_.config().family->rows,
            .layer = layer,
            .step = s.step,
            .stream = s.stream,
            .acts = s.acts && owner_.settings_.site.has_layer(layer),
            .H = H(),
            .N = s.N,
            .heads = owner_.heads_,
            .received = received,
            .null = s.null,
            .classes = s.classes,
            .places = s.places,
            .evidence = s.evidence};
  }

  // No change, then what the intervention makes of it.
  void prepare(Sample& s, Index layer) const {
    s.change.N = s.N;
    s.change.key_bias.assign(static_cast<std::size_t>(H() * s.N), 0.0f);
    s.change.head_gain.assign(static_cast<std::size_t>(H()), 1.0f);
    s.change.dose = {};
    const Intervention& kind = *owner_.settings_.kind;
    s.correcting = kind.correct != nullptr;
    const std::vector<float> received = looked_at(s, layer);
    const LayerView view = view_of(s, layer, received);
    if (kind.change == nullptr || !view.acts) return;
    s.change.dose.reached = 1;
    kind.change(view, s.change);
    s.memory.doses[static_cast<std::size_t>(layer)] += s.change.dose;
  }

  const Intervener& owner_;
  std::vector<Sample*> samples_;
  Tap* inner_;
};

Intervener::Intervener(const Model& model, const Tokenizer& tokenizer, const InterventionSettings& settings,
                       std::span<const TokenizedPrompt* const> prompts, SampleStreams streams,
                       GenerationObserver* inner)
    : model_(model), tokenizer_(tokenizer), settings_(settings), inner_(inner), heads_(settings.site.heads) {
  if (heads_.empty()) {
    heads_.resize(static_cast<std::size_t>(model.config().H));
    std::iota(heads_.begin(), heads_.end(), Index{0});
  }
  samples_.resize(prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    samples_[i].prompt = prompts[i];
    samples_[i].stream = streams.of(static_cast<Index>(i));
    samples_[i].memory.frozen.resize(static_cast<std::size_t>(model.config().L));
    samples_[i].memory.doses.resize(static_cast<std::size_t>(model.config().L));
    samples_[i].past.resize(static_cast<std::size_t>(model.config().L));
  }
}

Intervener::~Intervener() = default;

Measurements Intervener::dose(Index sample) const {
  return dose_measurements(memory(sample).doses, settings_.kind->doses);
}

const SampleMemory& Intervener::memory(Index sample) const {
  return samples_[static_cast<std::size_t>(sample)].memory;
}

// Where rows stand once they are computed, the first pass has the prompt's and the later ones one each.
// Across steps it is those that are read that are held to each other.
bool Intervener::goes_by_the_last_row() const {
  return settings_.kind->rows == CorrectedRows::kOfThePass && settings_.parameter == "steps" &&
         model_.config().family->rows == PassRows::kAddUp;
}

void Intervener::begin(Sample& s, const Generation& generation, std::span<const TokenId> tokens,
                       Index first_row) {
  const ModelConfig& config = model_.config();
  s.step = generation.steps;
  s.tokens = tokens;
  s.N = std::ssize(tokens);
  s.mask = generation.mask;
  s.acts = settings_.site.steps.contains(s.step);
  s.places = key_places(s.prompt->layout.regions, s.N);
  s.evidence = s.prompt->layout.evidence;
  s.evidence.resize(tokens.size(), 0);
  const Index first_counted = settings_.kind->rows == CorrectedRows::kSoFar ? 0
                              : goes_by_the_last_row()                      ? s.N - 1
                                                                            : first_row;
  s.null = uniform_from(s.mask, first_counted, s.N);
  s.counted = column_sums_of(s.N - std::max(first_counted, first_row), s.N - first_row);
  s.counted_rows = s.N - first_counted;
  s.has_past = false;
  s.round = 0;
  if (settings_.kind->needs_classes) {
    std::vector<TokenOrigin> origins = s.prompt->origins;
    origins.resize(tokens.size(), TokenOrigin::kText);
    s.classes = classify(tokenizer_, tokens, role_ids(tokenizer_, config), origins);
  }
}

// One pass over all tokens of every sample, whatever a cache holds: that was computed under changes.
void Intervener::look_unmodified(std::span<Sample* const> samples) {
  const auto layers = static_cast<std::size_t>(model_.config().L);
  const Index first = 0;  // a pass reads at least one row
  std::vector<LookingTap::Sequence> looked;
  std::vector<ForwardSequence> sequences;
  for (const Sample* s : samples) {
    looked.push_back({.request = column_sums_of(s->N, s->N), .received = {}});
    looked.back().received.resize(layers);
    sequences.push_back({.ids = s->tokens, .read_rows = {&first, 1}, .mask = s->mask});
  }
  LookingTap tap(settings_.site, std::move(looked));
  model_.forward(sequences, &tap);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i]->previous = std::move(samples[i]->unmodified);
    samples[i]->unmodified = std::move(tap.sequences[i].received);
  }
}

Tap* Intervener::tap_for(std::vector<Sample*> samples, Tap* inner) {
  const bool looks = settings_.from == AnchorsFrom::kPreviousStep ||
                     std::ranges::any_of(samples, [](const Sample* s) { return s->acts; });
  if (settings_.kind->needs_unmodified && looks) look_unmodified(samples);
  tap_ = std::make_unique<ChangingTap>(*this, std::move(samples), inner);
  return tap_.get();
}

Tap* Intervener::before_pass(std::span<const Pass> passes) {
  Tap* inner = inner_ != nullptr ? inner_->before_pass(passes) : nullptr;
  std::vector<Sample*> samples;
  for (const Pass& pass : passes) {
    Sample& s = samples_[static_cast<std::size_t>(pass.sample)];
    begin(s, *pass.generation, pass.tokens, pass.first_row);
    s.has_past =
        model_.config().family->rows == PassRows::kAddUp && settings_.kind->rows == CorrectedRows::kSoFar;
    samples.push_back(&s);
  }
  return tap_for(std::move(samples), inner);
}

void Intervener::proposed(Index sample, std::span<const Proposal> proposals) {
  if (inner_ != nullptr) inner_->proposed(sample, proposals);
}

void Intervener::after_step(Index sample, const Generation& generation) {
  if (inner_ != nullptr) inner_->after_step(sample, generation);
}

Tap* Intervener::before_finished(std::span<const Generation> generations, Tap* inner) {
  check(generations.size() == samples_.size(), "every sample is finished");
  std::vector<Sample*> samples;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    begin(samples_[i], generations[i], generations[i].tokens, 0);
    // Each row was read under a change of its own: one for all of them would be another intervention.
    if (goes_by_the_last_row()) samples_[i].acts = false;
    samples.push_back(&samples_[i]);
  }
  return tap_for(std::move(samples), inner);
}

}  // namespace buoy
