// One example's record: what was written when, and where attention went at every step, layer and head.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/model/family.h"
#include "buoy/probe/region.h"
#include "buoy/text/token_class.h"

namespace buoy {

inline constexpr Index kTraceVersion = 1;

// Where the record comes from. Everything here stands in the JSON header of the file.
struct TraceHeader {
  std::string buoy_version;
  std::string model;           // the name it was called by: "mini-mdm"
  std::string model_hash;      // of config and weights, see model/fingerprint.h
  std::string tokenizer_hash;  // empty where there is no tokenizer
  Writing writing = Writing::kFillsMasks;
  Mask mask;
  PassRows rows = PassRows::kAnew;
  Index H = 0, Hkv = 0, model_layers = 0;
  Index experts = 0, active_experts = 0;  // of a layer that has any; how many of them a row goes to
  std::vector<MixerKind> mixers;          // [model_layers]; empty: attention in all of them
  std::optional<TokenId> mask_id;
  std::string settings = "{}";  // JSON: sampler, prompt template, what was recorded
  std::string sample;           // the dataset's id
  std::string task;             // empty: none
  std::string question;
  std::vector<std::string> answers;  // that count as right
  std::string output;                // what the model wrote, up to EOS
  std::optional<bool> correct;       // exact match; nothing where no answer is known
};

// Statistics of the passes of a generation that were recorded. Row t of everything is pass steps[t].
// At pass t the sequence has lengths[t] positions (a causal model grows); entries from there on are 0.
// Received attention: the share of all attention that a key receives; each row of N adds up to 1.
struct StepRecord {
  std::vector<Index> steps;           // [S] numbers of the passes, from 0, ascending
  std::vector<Index> lengths;         // [S]
  std::vector<TokenId> tokens;        // [S, N] before the step; -1 from lengths[t] on
  std::vector<float> received;        // [S, L, N] over all rows, mean over heads
  std::vector<float> received_read;   // [S, L, N] over the rows whose logits were read
  std::vector<float> received_heads;  // [S, L, H, N] over all rows; empty unless asked for
  std::vector<std::int8_t> read;      // [S, N] 1 where the row's logits were read
  // What the pass proposed for the positions that it might fill, and how sure the sampler was; -1 and 0
  // elsewhere. Empty for models that append, which write what they propose, and in older files.
  std::vector<TokenId> guesses;         // [S, N]
  std::vector<float> guess_confidence;  // [S, N]
  // With the rows held still, where every pass computes all rows anew (empty for others, and in older files):
  // this step's attention over the rows that are read at the next recorded step too, and the first recorded
  // step's over the rows that are read at this one. received_staying is 0 where the next step reads a row
  // that this one does not (a block began) and at the last step.
  std::vector<float> received_staying, received_frozen;  // [S, L, N]
  // Mass that the rows of region a send into region b, over the rows of a: a row of a region with positions
  // adds up to 1, others are 0. While a model writes, everything generated counts as Answer.
  std::vector<float> flow;  // [S, L, R, R]
  // Column means of score, cosine and norm (docs/definitions.md), mean over heads; empty unless asked for.
  std::vector<float> score_means, cosine_means, norm_means;  // [S, L, N]
  // 1 − cosine of a position's key and the same one recorded step before, all key heads as one vector; 0 at
  // the first. Rotation by place turns both alike and drops out. Empty unless asked for.
  std::vector<float> key_change;  // [S, L, N]
  // X experts a row, best first, and what multiplies each. -1 and 0 in layers without experts and for rows
  // that this pass did not take through them (those that stand; in the last layer those that nobody reads).
  // Empty unless asked for.
  std::vector<std::int32_t> experts;  // [S, L, N, X]
  std::vector<float> expert_weights;  // [S, L, N, X]
};

// For each generated position, the row whose logits produced its token, in the pass that committed it.
struct AnswerRecord {
  std::vector<Index> rows;           // [G] position of that row; -1: never committed
  std::vector<Index> visible;        // [G] keys the row could see; 0: never committed
  std::vector<std::int32_t> argmax;  // [G, L, H] the key it looked at most; -1: none
  std::vector<float> weight;         // [G, L, H] of that key
  std::vector<float> entropy;        // [G, L, H] nats
  std::vector<float> evidence_mass;  // [G, L, H] on the positions marked as evidence
  // Mean over heads of its mass on each region, everything generated counting as Answer; adds up to 1, and 0
  // where nothing was committed. Empty in older files.
  std::vector<float> region_mass;  // [G, L, R]
};

// One pass over the finished sequence, all rows, per head.
struct FinishedRecord {
  std::vector<float> received;                               // [L, H, N]
  std::vector<float> row_entropy;                            // [L, H] mean over rows, nats
  std::vector<float> output_norm;                            // [L, H] mean_i ‖Σ_j A_ij v_j‖
  std::vector<float> uniform_norm;                           // [L, Hkv] output_norm if attention were uniform
  std::vector<float> value_norms, key_norms;                 // [L, Hkv, N]
  std::vector<float> score_means, cosine_means, norm_means;  // [L, H, N]
  // The third factor of scores in layers with a state space mixer, 1 in others; empty where no layer has one.
  std::vector<float> recency_means;  // [L, H, N]
  std::vector<float> flow;           // [L, R, R] as in StepRecord, with the Tail apart
  // As in StepRecord; the last layer has one row. Empty where a model has no experts.
  std::vector<std::int32_t> experts;  // [L, N, X]
  std::vector<float> expert_weights;  // [L, N, X]
};

struct Trace {
  TraceHeader header;

  std::vector<TokenId> tokens;           // [N] the finished sequence
  std::vector<std::string> token_texts;  // [N] as labels
  std::vector<TokenClass> classes;       // [N] of the finished sequence
  RegionMap regions;                     // of the finished sequence
  std::vector<std::int8_t> evidence;     // [N] 1 where evidence stands
  Index prompt_length = 0;
  std::vector<Index> commit_step;  // [G] pass that wrote it, from 0
  std::vector<double> confidence;  // [G]

  std::vector<Index> layers;  // [L] which layers were recorded, ascending
  StepRecord steps;
  AnswerRecord answer;
  FinishedRecord finished;

  Index N() const { return std::ssize(tokens); }
  Index G() const { return N() - prompt_length; }
  Index S() const { return std::ssize(steps.steps); }
  Index L() const { return std::ssize(layers); }
  Index H() const { return header.H; }
  Index Hkv() const { return header.Hkv; }
  Index R() const { return regions.count(); }
  Index X() const { return header.active_experts; }

  // What mixes recorded layer l.
  MixerKind mixer(Index l) const {
    const auto layer = static_cast<std::size_t>(layers[static_cast<std::size_t>(l)]);
    return header.mixers.empty() ? MixerKind::kAttention : header.mixers[layer];
  }

  // The class of position j before pass steps.steps[t]: masks are masks until they are filled.
  TokenClass class_at(Index t, Index j) const;
};

// Whether recorded step t wrote: it committed a token of the answer, which ends with its first EOS.
bool is_writing(const Trace& trace, Index t);
Index writing_steps(const Trace& trace);

// Throws Error at `place` unless every array has the size the others imply, no number is NaN or infinite,
// regions cover the sequence and every recorded row of attention adds up to 1 (within 1e-3).
void check_trace(const Trace& trace, std::string_view place);

// npz that numpy opens without pickle; docs/trace.md lists the arrays. Written atomically. Throw Error.
void write_trace(const std::filesystem::path& path, const Trace& trace);
Trace read_trace(const std::filesystem::path& path);

}  // namespace buoy
