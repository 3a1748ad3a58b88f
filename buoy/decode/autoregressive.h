// Left-to-right generation with a cache of keys and values.
#pragma once

#include <span>
#include <vector>

#include "buoy/decode/generation.h"
#include "buoy/decode/sampling.h"
#include "buoy/model/model.h"

namespace buoy {

struct AutoregressiveOptions {
  Index max_new_tokens = 128;
  SamplingOptions sampling;
  std::vector<TokenId> stop_ids;  // generation ends after any of them; it stays in the output
  std::uint64_t seed = 0;
};

// Throws UsageError unless the options make sense.
void check_options(const AutoregressiveOptions& options);

// As generate_llada(): batched, results independent of the batch. Step 0 is the pass over the prompt.
std::vector<Generation> generate_autoregressive(const Model& model,
                                                std::span<const std::vector<TokenId>> prompts,
                                                const AutoregressiveOptions& options,
                                                GenerationObserver* observer = nullptr,
                                                SampleStreams streams = {});

}  // namespace buoy
