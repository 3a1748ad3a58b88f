#include <atomic>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/random.h"
#include "buoy/base/thread_pool.h"
#include "buoy/base/types.h"

namespace buoy {
namespace {

// Known answers published with the Random123 library.
TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Uniform, HasTheMomentsOfTheUnitInterval) {
  double sum = 0, squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double u =
        uniform({.seed = 7, .sample = 1, .step = 2, .position = 3}, static_cast<std::uint64_t>(i));
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 0.005);
}

TEST(Uniform, EveryPartOfTheKeyMatters) {
  const DrawKey key{.seed = 7, .sample = 1, .step = 2, .position = 3};
  const double u = uniform(key, 0);
  EXPECT_EQ(u, uniform(key, 0));
  EXPECT_NE(u, uniform(key, 1));
  EXPECT_NE(u, uniform({.seed = 8, .sample = 1, .step = 2, .position = 3}, 0));
  EXPECT_NE(u, uniform({.seed = 7, .sample = 2, .step = 2, .position = 3}, 0));
  EXPECT_NE(u, uniform({.seed = 7, .sample = 1, .step = 3, .position = 3}, 0));
  EXPECT_NE(u, uniform({.seed = 7, .sample = 1, .step = 2, .position = 4}, 0));
}

TEST(Draws, AShuffleIsAnyOrderAlikeOften) {
  std::map<std::vector<Index>, int> counts;
  for (std::uint32_t i = 0; i < 6000; ++i) ++counts[Draws({.seed = 5, .sample = i}).shuffled(3)];
  ASSERT_EQ(counts.size(), 6u) << "of three";
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 120);  // four standard errors
}

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (Index tasks : {0, 1, 2, 3, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(tasks));
      pool.run(tasks, [&](Index task, int thread) {
        ASSERT_LT(thread, threads);
        ++seen[static_cast<std::size_t>(task)];
      });
      for (const auto& count : seen) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, RethrowsAndStaysUsable) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.run(10,
                        [](Index task, int) {
                          if (task == 3) fail("task {}", task);
                        }),
               Error);
  std::atomic<Index> sum = 0;
  pool.run(10, [&](Index task, int) { sum += task; });
  EXPECT_EQ(sum, 45);
}

TEST(Shape, CountsElementsAndRefusesOverflow) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 0, 2}), 0);
  EXPECT_EQ(element_count({3, 5}), 15);
  EXPECT_THROW(element_count({-1}), Error);
  EXPECT_THROW(element_count({Index{1} << 40, Index{1} << 40}), Error);
  EXPECT_EQ(to_string(Shape{4096, 512}), "[4096,512]");
}

TEST(Check, NamesThePlace) {
  try {
    check(false, "rows match");
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("base_test.cc"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("rows match"), std::string::npos);
  }
}

}  // namespace
}  // namespace buoy
