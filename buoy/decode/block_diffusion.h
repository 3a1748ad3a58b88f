// The samplers of block families: blocks from left to right, each filled while it sees itself and all before
// it.
#pragma once

#include <span>
#include <vector>

#include "buoy/decode/generation.h"
#include "buoy/decode/sampling.h"
#include "buoy/model/model.h"

namespace buoy {

// How many masks a pass may fill: the block's length over its steps, evenly; the masks that it had at its
// start over them; or these by A2D's schedule (quota.h).
enum class BlockQuota { kOfLength, kOfMasks, kScheduled };

// Which: the quota's surest; its leftmost; all surer than the threshold where those are at least the quota,
// else the quota's surest; or the surest and all that reach, or pass, the threshold, without a quota.
enum class BlockPick { kSurest, kLeftmost, kAboveOrQuota, kBestAndReaching, kBestAndAbove };

// How far: to the end of the last block that gen_length reaches into; exactly gen_length; or so many whole
// blocks as it holds, counted from the one that the prompt ends in, each begun by the token that the last row
// of the block before it asks for, and one such token more (Fast-dLLM v2).
enum class BlockExtent { kWholeBlocks, kExact, kChained };

// Whether keys and values of finished blocks are kept. No token, logit or recorded number depends on it; a
// pass that a tap may change is always one over all tokens so far.
enum class BlockCache { kKept, kNone };

struct BlockOptions {
  Index gen_length = 128;
  Index block_length = 32;
  Index block_steps = 32;      // passes that a block may take, where a quota decides
  Index sub_block_length = 0;  // a block is filled piece by piece, left to right; 0: all of it at once
  BlockStart start = BlockStart::kSequence;
  BlockQuota quota = BlockQuota::kOfLength;
  BlockPick pick = BlockPick::kSurest;
  double threshold = 1;
  BlockExtent extent = BlockExtent::kWholeBlocks;
  SamplingOptions sampling;
  std::vector<TokenId> stop_ids;  // the generation ends after a block that holds one behind the prompt
  bool repeat_stop = false;       // what follows it in that block becomes the same token (Stable-DiffCoder)
  BlockCache cache = BlockCache::kKept;
  std::uint64_t seed = 0;
};

// Throws UsageError unless the options make sense.
void check_options(const BlockOptions& options);

// The mask of a generation from a prompt of that length.
Mask block_mask(const BlockOptions& options, Index prompt_length);

// As generate_llada(). A generation is as long as `extent` says; blocks behind one that holds a stop id stay
// masks.
std::vector<Generation> generate_blocks(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                        const BlockOptions& options, GenerationObserver* observer = nullptr,
                                        SampleStreams streams = {});

}  // namespace buoy
