#include "buoy/run/tracer.h"

#include <algorithm>
#include <array>

#include "buoy/base/enum_names.h"
#include "buoy/corpus/answer_score.h"
#include "buoy/intervene/intervener.h"
#include "buoy/run/recording_observer.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {
constexpr std::array<std::string_view, 2> kAnswerEnds = {"eos", "none"};
}  // namespace

std::string_view name_of(AnswerEnd end) {
  return kAnswerEnds[static_cast<std::size_t>(end)];
}

AnswerEnd parse_answer_end(std::string_view name) {
  return enum_named<AnswerEnd>(kAnswerEnds, name, "answer end");
}

namespace {

void record_finished(const TraceSource& source, std::span<const Generation> generations,
                     std::vector<Recorder>& recorders, Intervener* intervener) {
  RecorderTap tap;
  std::vector<ForwardSequence> sequences;
  const Index first = 0;  // a pass reads at least one row
  for (std::size_t i = 0; i < recorders.size(); ++i) {
    recorders[i].begin_finished(generations[i].tokens, source.model.config().eos_ids);
    tap.recorders.push_back(&recorders[i]);
    sequences.push_back(
        {.ids = generations[i].tokens, .read_rows = {&first, 1}, .mask = generations[i].mask});
  }
  source.model.forward(sequences, intervener ? intervener->before_finished(generations, &tap) : &tap);
}

std::optional<Intervener> make_intervener(const TraceSource& source, std::span<const TraceExample> examples,
                                          SampleStreams streams, GenerationObserver* inner) {
  if (source.intervention == nullptr) return std::nullopt;
  std::vector<const TokenizedPrompt*> prompts;
  for (const TraceExample& example : examples) prompts.push_back(&example.prompt);
  return std::optional<Intervener>(std::in_place, source.model, source.tokenizer, *source.intervention,
                                   prompts, streams, inner);
}

std::vector<std::vector<TokenId>> ids_of(std::span<const TraceExample> examples) {
  std::vector<std::vector<TokenId>> ids;
  for (const TraceExample& example : examples) ids.push_back(example.prompt.ids);
  return ids;
}

std::string label_of(const Tokenizer& tokenizer, TokenId id) {
  return tokenizer.contains(id) ? tokenizer.token_text(id) : std::string(kReplacementCharacter);
}

// The prompt's tokens know their origin; what was generated is text.
std::vector<TokenClass> classes_of(const TraceSource& source, const TraceExample& example,
                                   std::span<const TokenId> tokens) {
  std::vector<TokenOrigin> origins = example.prompt.origins;
  origins.resize(tokens.size(), TokenOrigin::kText);
  return classify(source.tokenizer, tokens, role_ids(source.tokenizer, source.model.config()), origins);
}

}  // namespace

void describe_trace(const TraceSource& source, const TraceExample& example, const Generation& generation,
                    Trace& trace) {
  TraceHeader& h = trace.header;
  h.buoy_version = source.buoy_version;
  h.model = source.name;
  h.model_hash = source.model_hash;
  h.tokenizer_hash = source.tokenizer_hash;
  h.settings = source.settings;
  h.sample = example.item.id;
  h.task = example.item.task;
  h.question = example.item.question;
  h.answers = example.item.answers;
  h.output = answer_text(source, generation.generated());
  if (!h.answers.empty()) h.correct = score_answer(h.output, h.answers).em > 0;
  trace.commit_step = generation.commit_step;
  trace.confidence = generation.confidence;
  for (const TokenId id : trace.tokens) trace.token_texts.push_back(label_of(source.tokenizer, id));
  trace.classes = classes_of(source, example, trace.tokens);
}

namespace {

// Keeps the queries and keys of one layer.
class StatesTap : public Tap {
 public:
  explicit StatesTap(Index layer) : layer_(layer) { request_.states = true; }
  Plan plan(Index layer, Index) override { return {.request = layer == layer_ ? &request_ : nullptr}; }
  Next measured(Index, Index, const AttentionStats& stats) override {
    queries = stats.query_states;
    keys = stats.key_states;
    return Next::kGoOn;
  }
  std::vector<float> queries, keys;  // [H, N, D], [Hkv, N, D]

 private:
  Index layer_;
  AttentionRequest request_;
};

}  // namespace

std::vector<AnsweredSample> generate_batch(const TraceSource& source, std::span<const TraceExample> examples,
                                           SampleStreams streams) {
  CancellingObserver cancelling(source.cancelled);
  std::optional<Intervener> intervener = make_intervener(source, examples, streams, &cancelling);
  GenerationObserver* observer = &cancelling;
  if (intervener) observer = &*intervener;
  std::vector<AnsweredSample> samples;
  for (Generation& made : generate(source.model, ids_of(examples), source.sampler, observer, streams)) {
    samples.push_back({.generation = std::move(made), .dose = {}});
    if (intervener) samples.back().dose = intervener->dose(std::ssize(samples) - 1);
  }
  return samples;
}

std::vector<TracedSample> trace_batch(const TraceSource& source, std::span<const TraceExample> examples,
                                      SampleStreams streams) {
  std::vector<Recorder> recorders;
  for (const TraceExample& example : examples) {
    ModelConfig config = source.model.config();
    config.mask = generation_mask(source.sampler, config, std::ssize(example.prompt.ids));
    recorders.emplace_back(config, source.record, example.prompt.layout);
  }
  RecordingObserver recording(recorders, source.cancelled);
  std::optional<Intervener> intervener = make_intervener(source, examples, streams, &recording);
  GenerationObserver* observer = &recording;
  if (intervener) observer = &*intervener;
  std::vector<Generation> generations =
      generate(source.model, ids_of(examples), source.sampler, observer, streams);
  // Before the finished pass, which changes no answer: the dose is the same whether or not anyone records.
  std::vector<Measurements> doses(examples.size());
  for (std::size_t i = 0; intervener && i < doses.size(); ++i) {
    doses[i] = intervener->dose(static_cast<Index>(i));
  }
  record_finished(source, generations, recorders, intervener ? &*intervener : nullptr);
  std::vector<TracedSample> samples;
  for (std::size_t i = 0; i < recorders.size(); ++i) {
    samples.push_back(
        {.trace = recorders[i].take(), .generation = std::move(generations[i]), .dose = std::move(doses[i])});
    describe_trace(source, examples[i], samples.back().generation, samples.back().trace);
  }
  return samples;
}

QkExample record_qk(const Model& model, std::span<const TokenId> tokens, const Mask& mask, Index layer,
                    Index head) {
  StatesTap tap(layer);
  const Index first = 0;  // a pass reads at least one row
  const ForwardSequence sequence{.ids = tokens, .read_rows = {&first, 1}, .mask = mask};
  model.forward({&sequence, 1}, &tap);
  const ModelConfig& config = model.config();
  const auto size = static_cast<std::size_t>(std::ssize(tokens) * config.D);
  const Index kv = head / (config.H / config.Hkv);
  QkExample made =
      qk_example(std::span(tap.queries).subspan(static_cast<std::size_t>(head) * size, size),
                 std::span(tap.keys).subspan(static_cast<std::size_t>(kv) * size, size), config.D, mask);
  made.layer = layer;
  made.head = head;
  return made;
}

std::string answer_text(const Tokenizer& tokenizer, const ModelConfig& config,
                        std::span<const TokenId> generated) {
  const auto end = std::ranges::find_first_of(generated, config.eos_ids);
  return decode_generated(tokenizer, {generated.begin(), end});
}

std::string answer_text(const TraceSource& source, std::span<const TokenId> generated) {
  return source.answer_end == AnswerEnd::kNone
             ? decode_generated(source.tokenizer, generated)
             : answer_text(source.tokenizer, source.model.config(), generated);
}

}  // namespace buoy
