// The running sums of one layer against means over whole matrices, for a pass and for passes that add rows.
#include "buoy/probe/fold.h"

#include <cmath>

#include <gtest/gtest.h>

#include "buoy/base/random.h"

namespace buoy {
namespace {

constexpr Index kH = 2;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

double number(Index h, Index i, Index j) {
  return uniform({.seed = 3, .sample = static_cast<std::uint32_t>(h)},
                 static_cast<std::uint64_t>(i * 100 + j)) -
         0.3;
}

bool sees(Mask mask, Index i, Index j) {
  return mask == Mask::kFull || j <= i;
}

// Regions 0 1 1 2 2 2 …
std::vector<Index> regions(Index N) {
  std::vector<Index> of;
  for (Index j = 0; j < N; ++j) of.push_back(j == 0 ? 0 : j < 3 ? 1 : 2);
  return of;
}

const std::vector<QueryGroup> kGroups = {{0, false}, {1, false}, {2, false}, {2, true}};

// What attention would measure of rows [first, N): `number` stands for attention and for scores alike. The
// last row is the one that is read.
AttentionStats measured(Mask mask, Index first, Index N) {
  AttentionStats stats;
  const std::vector<Index> of = regions(N);
  stats.column_sums.assign(at(kH * 4 * N), 0.0f);
  for (Index h = 0; h < kH; ++h) {
    for (Index j = 0; j < N; ++j) {
      double sum = 0;
      Index queries = 0;
      for (Index i = first; i < N; ++i) {
        if (!sees(mask, i, j)) continue;
        sum += number(h, i, j);
        ++queries;
        const Index group = i == N - 1 ? 3 : of[at(i)];
        stats.column_sums[at((h * 4 + group) * N + j)] += static_cast<float>(number(h, i, j));
      }
      const double mean = queries > 0 ? sum / static_cast<double>(queries) : 0;
      stats.score_means.push_back(static_cast<float>(mean));
      stats.cosine_means.push_back(static_cast<float>(2 * mean));
      stats.norm_means.push_back(static_cast<float>(3 * mean));
    }
  }
  return stats;
}

void add(LayerFold& fold, Mask mask, Index first, Index N, HeadDetail heads = HeadDetail::kAveraged) {
  const std::vector<Index> of = regions(N);
  fold.add({.mask = mask,
            .H = kH,
            .first_row = first,
            .T = N - first,
            .region_of = of,
            .R = 3,
            .groups = kGroups,
            .read_rows = 1},
           {.heads = heads}, measured(mask, first, N));
}

void expect_means(const LayerFold& fold, Mask mask, Index N) {
  const std::pair<LayerFold::Mean, double> means[] = {
      {LayerFold::Mean::kScore, 1}, {LayerFold::Mean::kCosine, 2}, {LayerFold::Mean::kNorm, 3}};
  for (const auto& [mean, factor] : means) {
    std::vector<float> found;
    fold.append_mean(mean, found);
    ASSERT_EQ(std::ssize(found), N);
    for (Index j = 0; j < N; ++j) {
      double sum = 0, queries = 0;
      for (Index h = 0; h < kH; ++h) {
        for (Index i = 0; i < N; ++i) {
          if (!sees(mask, i, j)) continue;
          sum += factor * number(h, i, j);
          queries += 1;
        }
      }
      EXPECT_NEAR(found[at(j)], sum / queries, 1e-5) << "key " << j;
    }
  }
}

void expect_received(const LayerFold& fold, Mask mask, Index N) {
  std::vector<float> found, read, flow;
  fold.append_received(found);
  fold.append_received_read(read);
  fold.append_flow(flow);
  const std::vector<Index> of = regions(N);
  std::vector<double> mass(9, 0.0), rows(3, 0.0);
  for (Index i = 0; i < N; ++i) rows[at(of[at(i)])] += kH;
  for (Index j = 0; j < N; ++j) {
    double sum = 0, of_last = 0;
    for (Index h = 0; h < kH; ++h) {
      for (Index i = 0; i < N; ++i) {
        const double a = sees(mask, i, j) ? number(h, i, j) : 0;
        sum += a;
        if (i == N - 1) of_last += a;
        mass[at(of[at(i)] * 3 + of[at(j)])] += a;
      }
    }
    EXPECT_NEAR(found[at(j)], sum / static_cast<double>(kH * N), 1e-5) << "key " << j;
    EXPECT_NEAR(read[at(j)], of_last / kH, 1e-5) << "key " << j;
  }
  for (Index cell = 0; cell < 9; ++cell) {
    EXPECT_NEAR(flow[at(cell)], mass[at(cell)] / rows[at(cell / 3)], 1e-5) << "cell " << cell;
  }
}

TEST(LayerFold, OfAMaskedModelIsAMeanOverAllRowsOfThePass) {
  LayerFold fold;
  add(fold, Mask::kFull, 0, 7);
  expect_means(fold, Mask::kFull, 7);
  expect_received(fold, Mask::kFull, 7);
}

TEST(LayerFold, OfACausalModelIsAMeanOverTheRowsOfAllPassesThatMaySeeAKey) {
  LayerFold fold;
  add(fold, Mask::kCausal, 0, 5);
  expect_means(fold, Mask::kCausal, 5);
  expect_received(fold, Mask::kCausal, 5);
  add(fold, Mask::kCausal, 5, 6);
  add(fold, Mask::kCausal, 6, 8);  // two rows at once
  expect_means(fold, Mask::kCausal, 8);
  expect_received(fold, Mask::kCausal, 8);
}

TEST(LayerFold, KeepsHeadsApartWhenAsked) {
  LayerFold fold;
  add(fold, Mask::kFull, 0, 4, HeadDetail::kPerHead);
  std::vector<float> heads;
  fold.append_received_heads(heads);
  ASSERT_EQ(std::ssize(heads), kH * 4);
  for (Index h = 0; h < kH; ++h) {
    for (Index j = 0; j < 4; ++j) {
      double sum = 0;
      for (Index i = 0; i < 4; ++i) sum += number(h, i, j);
      EXPECT_NEAR(heads[at(h * 4 + j)], sum / 4, 1e-5);
    }
  }
}

TEST(LayerFold, BeginsAnewWhenCleared) {
  LayerFold fold;
  add(fold, Mask::kFull, 0, 7);
  fold.clear();
  add(fold, Mask::kFull, 0, 5);
  expect_means(fold, Mask::kFull, 5);
  expect_received(fold, Mask::kFull, 5);
}

}  // namespace
}  // namespace buoy
