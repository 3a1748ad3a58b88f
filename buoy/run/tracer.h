// Runs examples through a model and records each as a trace.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "buoy/decode/sampler.h"
#include "buoy/intervene/intervention.h"
#include "buoy/model/model.h"
#include "buoy/probe/recorder.h"
#include "buoy/prompt/tokenized_prompt.h"
#include "buoy/run/collect.h"

namespace buoy {

// What of the generated tokens is the answer: those before the first EOS, or all of them, as scripts have it
// that skip special tokens and cut nothing.
enum class AnswerEnd { kEos, kNone };
// "eos", "none".
std::string_view name_of(AnswerEnd end);
// Throws UsageError.
AnswerEnd parse_answer_end(std::string_view name);

// What is the same for all traces of one model.
struct TraceSource {
  const Model& model;
  const Tokenizer& tokenizer;
  SamplerSettings sampler;
  RecordSettings record;
  std::string name, model_hash, tokenizer_hash, buoy_version;
  std::string settings;                                // JSON; goes into every header
  const InterventionSettings* intervention = nullptr;  // what all passes run under, the finished one too
  std::function<bool()> cancelled;                     // asked before every pass; empty: never
  AnswerEnd answer_end = AnswerEnd::kEos;
};

// One example: its prompt and, where it came from a dataset, its item.
struct TraceExample {
  TokenizedPrompt prompt;
  QaItem item;  // answers empty: nothing is known about what is right
};

// Answers the examples in one batch, under the source's intervention; nothing is recorded. Throws Error, and
// Cancelled when the source says so.
struct AnsweredSample {
  Generation generation;
  Measurements dose;  // how much the intervention did while it was written; empty without one
};
std::vector<AnsweredSample> generate_batch(const TraceSource& source, std::span<const TraceExample> examples,
                                           SampleStreams streams);

// The same with a trace of each example; no trace depends on the others. Throws Error.
struct TracedSample {
  Trace trace;
  Generation generation;
  Measurements dose = {};  // as AnsweredSample's
};
std::vector<TracedSample> trace_batch(const TraceSource& source, std::span<const TraceExample> examples,
                                      SampleStreams streams);

// What a trace says beside what its recorder knows: where it comes from, the answer, when each token was
// written, texts and classes. trace.tokens are there.
void describe_trace(const TraceSource& source, const TraceExample& example, const Generation& generation,
                    Trace& trace);

// Score, cosine and norm of every query and key of one head over a sequence of at most kMaxQkPositions
// tokens.
QkExample record_qk(const Model& model, std::span<const TokenId> tokens, const Mask& mask, Index layer,
                    Index head);

// What a model wrote, up to the first EOS, without special tokens; ids beyond the tokenizer's as U+FFFD.
std::string answer_text(const Tokenizer& tokenizer, const ModelConfig& config,
                        std::span<const TokenId> generated);
// The same, ended as the source says.
std::string answer_text(const TraceSource& source, std::span<const TokenId> generated);

}  // namespace buoy
