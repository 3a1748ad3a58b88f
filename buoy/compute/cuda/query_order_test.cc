// Plain host code: runs without a card.
#include "buoy/compute/cuda/query_order.h"

#include <gtest/gtest.h>

namespace buoy::cuda {
namespace {

// Groups 0, 1 and 2 in turn, every fourth query in none.
AttentionRequest three_groups(Index queries) {
  AttentionRequest want;
  want.group_count = 3;
  for (Index t = 0; t < queries; ++t) want.query_groups.push_back(static_cast<std::int8_t>(t % 4 - 1));
  return want;
}

AttentionRequest one_group(Index queries) {
  AttentionRequest want;
  want.group_count = 1;
  want.query_groups.assign(static_cast<std::size_t>(queries), 0);
  return want;
}

TEST(QueryOrder, HoldsEveryQueryOfAGroupOnceInBlocksOfItsGroup) {
  const AttentionRequest want = three_groups(1001);
  const QueryOrder made(want);
  ASSERT_EQ(std::ssize(made.order), std::ssize(made.blocks) * kQueryBlock);
  for (int t = 0; t < 1001; ++t) {
    const int group = want.query_groups[static_cast<std::size_t>(t)],
              place = made.place[static_cast<std::size_t>(t)];
    ASSERT_EQ(place >= 0, group >= 0) << t;
    if (place < 0) continue;
    EXPECT_EQ(made.order[static_cast<std::size_t>(place)], t);
    const GroupBlock& block = made.blocks[static_cast<std::size_t>(place / kQueryBlock)];
    EXPECT_EQ(block.group, group);
    EXPECT_LE(t, block.last_query);
    EXPECT_EQ(block.first_query, -1);  // every fourth one alone does not follow the one before
  }
  EXPECT_EQ(QueryOrder(one_group(100)).blocks[1].first_query, kQueryBlock);
}

// Every block lies in one stretch; a row of sums has one group and one stretch.
void check_rows(const AttentionRequest& want, Index owned, bool masked) {
  QueryOrder made(want);
  const Stretches stretches(made.blocks, want.group_count, owned, masked);
  const std::size_t groups = static_cast<std::size_t>(want.group_count);
  std::vector<const Stretch*> owner(groups + stretches.further.size(), nullptr);
  auto block = made.blocks.begin();
  for (const Stretch& stretch : stretches.all) {
    ASSERT_EQ(stretch.first_block, block - made.blocks.begin());
    for (const auto end = block + stretch.blocks; block != end; ++block) {
      const auto row = static_cast<std::size_t>(block->row);
      ASSERT_LT(row, owner.size());
      EXPECT_TRUE(owner[row] == nullptr || owner[row] == &stretch);
      owner[row] = &stretch;
      EXPECT_LE(block->last_query, stretch.last_query);
      const bool begins = block == made.blocks.begin() || (block - 1)->group != block->group;
      EXPECT_TRUE(!begins || block->row == block->group);
      if (row < groups) {
        EXPECT_EQ(block->row, block->group);
      } else {
        EXPECT_EQ(stretches.further[row - groups].group, block->group);
        EXPECT_LE(block->last_query, stretches.further[row - groups].last_query);
      }
    }
  }
  EXPECT_EQ(block, made.blocks.end());
}

TEST(Stretches, GiveEveryStretchRowsOfItsOwn) {
  for (const Index queries : {1, 64, 1000, 2048, 8192}) {
    for (const Index owned : {1, 128, 4096}) {
      for (const bool masked : {false, true}) {
        check_rows(one_group(queries), owned, masked);
        check_rows(three_groups(queries), owned, masked);
      }
    }
  }
}

TEST(Stretches, AreManyOnlyWhereOwnersAreFew) {
  const auto count = [](Index queries, Index owned, bool masked) {
    QueryOrder made(one_group(queries));
    return std::ssize(Stretches(made.blocks, 1, owned, masked).all);
  };
  EXPECT_EQ(count(2048, 128, true), 4);  // 32 blocks: eight each
  EXPECT_EQ(count(8192, 512, true), 3);
  EXPECT_EQ(count(8192, 2048, true), 1);
  EXPECT_EQ(count(2048, 128, false), 2);  // two a multiprocessor, all alike
  EXPECT_EQ(count(2048, 256, false), 1);
  EXPECT_EQ(count(300, 1, true), 1);  // too short to share
}

}  // namespace
}  // namespace buoy::cuda
