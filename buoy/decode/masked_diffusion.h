// The samplers of LLaDA, A2D and Dream: start from masks, commit the surest positions step by step.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "buoy/decode/approximate_cache.h"
#include "buoy/decode/generation.h"
#include "buoy/decode/sampling.h"
#include "buoy/model/model.h"

namespace buoy {

// Which of the masks that may be filled are filled first: the surest, any, or (SDAR) the leftmost.
enum class Remasking { kLowConfidence, kRandom, kSequential };

// What the confidences of low_confidence are rounded to before they are ranked. The public code ranks them in
// the type of its logits, where all that are nearly sure are equal and the order of equals decides: ours
// takes the leftmost first.
enum class ConfidenceType { kF64, kF32, kBf16 };

// How many a step: LLaDA's even quota, where lengths and steps must divide, or A2D's schedule, where nothing
// need divide anything and the last block may be short (quota.h).
enum class LladaQuota { kEven, kScheduled };

struct LladaOptions {
  Index gen_length = 128;
  Index steps = 128;
  Index block_length = 128;
  LladaQuota quota = LladaQuota::kEven;
  double temperature = 0;
  Remasking remasking = Remasking::kLowConfidence;
  ConfidenceType confidence = ConfidenceType::kF64;
  double cfg_scale = 0;
  bool logits_eos_inf = false;          // EOS is never proposed
  bool confidence_eos_eot_inf = false;  // EOS and end-of-turn are committed last
  // Set: commit everything at least this sure, and always the surest, until the block is full; steps is not
  // used.
  std::optional<double> threshold;
  CacheOptions cache = {};  // not beside guidance
  std::uint64_t seed = 0;
};

// How Dream ranks the masks it may fill. p2 (Open-dCoder) takes back what it is no longer sure of: every step
// looks at all generated positions and leaves the least sure as masks.
enum class DreamAlgorithm { kOrigin, kMaskgitPlus, kTopkMargin, kEntropy, kP2 };

struct DreamOptions {
  Index gen_length = 128;
  Index steps = 512;
  // Blocks are filled from left to right, each by the schedule of its share of the steps. 0: one block. Must
  // divide as LLaDA's.
  Index block_length = 0;
  double eps = 1e-3;
  DreamAlgorithm alg = DreamAlgorithm::kOrigin;
  double alg_temp = 0;
  SamplingOptions sampling{.order = FilterOrder::kTopPFirst};
  CacheOptions cache = {};  // not beside p2
  std::uint64_t seed = 0;
};

// Generate for every prompt; one pass a step for all of them. Sample i draws from streams.of(i), so
// its result depends neither on the batch nor on its place in it. Throw UsageError for options that do not
// fit (lengths that do not divide, numbers out of range) and Error for prompts that do not fit the model.
std::vector<Generation> generate_llada(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                       const LladaOptions& options, GenerationObserver* observer = nullptr,
                                       SampleStreams streams = {});
std::vector<Generation> generate_dream(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                       const DreamOptions& options, GenerationObserver* observer = nullptr,
                                       SampleStreams streams = {});

// The confidence as a number of that type, to the nearest, ties to even.
double rounded(double confidence, ConfidenceType type);

// Throw UsageError unless the options make sense.
void check_options(const LladaOptions& options);
void check_options(const DreamOptions& options);

}  // namespace buoy
