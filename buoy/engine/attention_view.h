// One head's attention at one step, whole: for looking at, up to a limit of size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buoy/decode/sampler.h"
#include "buoy/engine/loaded_model.h"
#include "buoy/text/token_class.h"

namespace buoy {

class RunObserver;

struct AttentionViewSettings {
  Index layer = 0;
  std::optional<Index> head;              // empty: the mean over heads
  std::optional<Index> step;              // the sequence before this pass; empty: the finished one
  Implicit implicit = Implicit::kEnergy;  // of a layer without attention
};

// A sequence may have this many tokens: a matrix of four million cells is the most that can be looked at.
inline constexpr Index kMaxViewTokens = 2048;

// What rows and columns are is told beside the numbers.
struct AttentionView {
  std::string model;
  Index layer = 0;
  std::optional<Index> head, step;
  Index steps = 0;  // passes of the whole generation; 0 where it was not finished
  Index prompt_length = 0;
  Mask mask;
  std::vector<TokenId> tokens;      // [N] as they stood
  std::vector<std::string> texts;   // [N] as labels; ids where there is no tokenizer
  std::vector<TokenClass> classes;  // [N]; empty where there is no tokenizer
  std::vector<Index> writing;       // queries whose logits this step's tokens came from; empty without a step
  std::vector<float> weights;       // [N, N] queries × keys; 0 where a query may not look
  std::vector<double> received;     // [N] share of all attention that a key receives; adds up to 1
  std::vector<double> null;         // [N] the same if attention were uniform

  Index N() const { return std::ssize(tokens); }
  float weight(Index query, Index key) const { return weights[static_cast<std::size_t>(query * N() + key)]; }
  double lift(Index key) const {  // received ÷ null
    return received[static_cast<std::size_t>(key)] / null[static_cast<std::size_t>(key)];
  }
  // The keys that receive the most, most first.
  std::vector<Index> strongest_keys(Index count) const;
  // The keys that one query attends to most, most first.
  std::vector<Index> strongest_of(Index query, Index count) const;
};

// Generates up to the step, or to the end, and computes the layer once more over the sequence as it stood.
// Throws UsageError for layers, heads and steps that there are not, and Error for sequences that are too
// long.
AttentionView view_attention(const LoadedModel& model, const std::vector<TokenId>& prompt,
                             const SamplerSettings& sampler, const AttentionViewSettings& settings,
                             RunObserver* observer = nullptr);

// "query,query_token,key,key_token,weight", a row for each weight that is not 0.
std::string matrix_csv(const AttentionView& view);
// "key,token,class,received,null,lift".
std::string keys_csv(const AttentionView& view);
// "query,token,entropy,strongest_key,strongest_token,weight": entropy in nats.
std::string rows_csv(const AttentionView& view);

// The view in words: what it is, the keys that receive most, and where the rows that write look.
std::string describe(const AttentionView& view, Index count);

}  // namespace buoy
