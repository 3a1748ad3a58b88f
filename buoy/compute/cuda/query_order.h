// In which order pass 2 visits the queries of a sequence, and which of them an owner of keys walks alone.
#pragma once

#include <vector>

#include "buoy/compute/attention.h"
#include "buoy/compute/cuda/attention_params.h"

namespace buoy::cuda {

// Queries sorted by group, each group filled up to whole blocks: then a block's columns go to one group.
struct QueryOrder {
  std::vector<int> order;  // queries; -1 where a block is filled up
  std::vector<int> place;  // [T], where a query stands there; -1: in no group
  std::vector<GroupBlock> blocks;

  explicit QueryOrder(const AttentionRequest& want);
};

// The blocks shared out in stretches, so that there are owners for the whole card. How many, the sequence
// alone says: its bits must not hang on what else is in the batch.
struct Stretches {
  std::vector<Stretch> all;
  std::vector<FurtherRow> further;

  // `owned`: tiles of keys of all heads. Writes into the blocks which row their sums go to.
  Stretches(std::vector<GroupBlock>& blocks, int group_count, Index owned, bool masked);
};

}  // namespace buoy::cuda
