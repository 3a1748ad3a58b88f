#include "buoy/compute/cuda/query_order.h"

#include <algorithm>

namespace buoy::cuda {
namespace {

// Owners that run at once, two on each of 132 multiprocessors. Under a mask they differ in work, and several
// in turn even that out. A stretch of fewer blocks than this is not worth copying the keys for.
constexpr Index kAtOnce = 264, kInTurn = 4 * kAtOnce, kFewestBlocks = 8;

Index stretch_count(Index blocks, Index owned, bool masked) {
  const Index wanted = masked ? (kInTurn + owned - 1) / owned : kAtOnce / owned;
  return std::clamp<Index>(wanted, 1, std::max<Index>(1, blocks / kFewestBlocks));
}

}  // namespace

QueryOrder::QueryOrder(const AttentionRequest& want) : place(want.query_groups.size(), -1) {
  std::vector<std::vector<int>> members(static_cast<std::size_t>(want.group_count));
  for (std::size_t t = 0; t < want.query_groups.size(); ++t) {
    if (want.query_groups[t] >= 0) {
      members[static_cast<std::size_t>(want.query_groups[t])].push_back(static_cast<int>(t));
    }
  }
  for (std::size_t g = 0; g < members.size(); ++g) {
    for (std::size_t first = 0; first < members[g].size(); first += kQueryBlock) {
      const std::size_t count = std::min<std::size_t>(kQueryBlock, members[g].size() - first);
      for (std::size_t i = first; i < first + count; ++i) {
        place[static_cast<std::size_t>(members[g][i])] = static_cast<int>(order.size());
        order.push_back(members[g][i]);
      }
      order.insert(order.end(), kQueryBlock - count, -1);
      const int group = static_cast<int>(g), start = members[g][first], last = members[g][first + count - 1];
      const bool follow = last - start == static_cast<int>(count) - 1;
      blocks.push_back(
          {.group = group, .row = group, .last_query = last, .first_query = follow ? start : -1});
    }
  }
}

Stretches::Stretches(std::vector<GroupBlock>& blocks, int group_count, Index owned, bool masked) {
  const Index count = std::ssize(blocks), number = stretch_count(count, owned, masked);
  for (Index i = 0; i < number; ++i) {
    const Index first = count * i / number, end = count * (i + 1) / number;
    Stretch stretch{static_cast<int>(first), static_cast<int>(end - first), -1};
    // A group that goes on here from the stretch before has a further row.
    const int goes_on = first == 0 ? -1 : blocks[static_cast<std::size_t>(first - 1)].group;
    for (Index b = first; b < end; ++b) {
      GroupBlock& block = blocks[static_cast<std::size_t>(b)];
      stretch.last_query = std::max(stretch.last_query, block.last_query);
      if (block.group != goes_on) continue;
      if (b == first) further.push_back({block.group, -1});
      further.back().last_query = std::max(further.back().last_query, block.last_query);
      block.row = group_count + static_cast<int>(further.size()) - 1;
    }
    all.push_back(stretch);
  }
}

}  // namespace buoy::cuda
