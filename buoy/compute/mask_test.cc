// Masks against their definition, and attention under masks of blocks against sums over a written-out N×N.
#include "buoy/compute/mask.h"

#include <cmath>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/compute/attention_testing.h"

namespace buoy {
namespace {

using namespace testing_support;

// The definition: block of the key no later than block of the query.
bool sees(const Mask& mask, Index query, Index key) {
  const Index B = mask.block(), o = mask.offset();
  return B == 0 || (key + o) / B <= (query + o) / B;
}

std::vector<Mask> masks() {
  std::vector<Mask> all = {Mask::kFull, Mask::kCausal};
  for (const Index size : {1, 3, 4}) {
    for (const Index offset : {0, 1, 2}) all.push_back(Mask::blocks(size, offset));
  }
  return all;
}

TEST(Mask, AQueryAlwaysSeesThePrefixThatTheDefinitionGives) {
  for (const Mask& mask : masks()) {
    for (const Index N : {1, 2, 7, 12}) {
      for (Index q = 0; q < N; ++q) {
        for (Index k = 0; k < N; ++k) {
          EXPECT_EQ(k < mask.visible_keys(q, N), sees(mask, q, k)) << name_of(mask) << " " << q << " " << k;
          EXPECT_EQ(q >= mask.first_position_seeing(k), sees(mask, q, k))
              << name_of(mask) << " " << q << " " << k;
        }
      }
    }
  }
}

TEST(Mask, BlocksOfOneAreCausalAndAnOffsetCountsWithinABlock) {
  EXPECT_EQ(Mask::blocks(1, 2), Mask::kCausal);
  EXPECT_EQ(Mask::blocks(4, 5), Mask::blocks(4, 1));
  EXPECT_NE(Mask::blocks(4, 1), Mask::blocks(4));
  EXPECT_EQ(Mask(), Mask::kFull);
  EXPECT_EQ(name_of(Mask::blocks(4, 5)), "blocks of 4, the first 1 short");
  EXPECT_THROW(Mask::blocks(0), InternalError);
  EXPECT_THROW(Mask::blocks(2, -1), InternalError);
}

// One head's answer by the definition, in double.
struct Witness {
  std::vector<double> matrix, out;               // [T, N], [T, D]
  std::vector<double> score_means, column_sums;  // [N], [group_count, N]
  double uniform_norm = 0;
};

Witness write_out(const Problem& p, Index h) {
  const auto& [T, N, H, Hkv, D, mask, after] = p.shape;
  const Index kv = h / (H / Hkv), first_position = N - T - after;
  const auto cell = [](const std::vector<float>& x, Index row, Index heads, Index head, Index D_, Index d) {
    return double{x[static_cast<std::size_t>((row * heads + head) * D_ + d)]};
  };
  const auto sized = [](Index count) { return std::vector<double>(static_cast<std::size_t>(count), 0.0); };
  Witness w{sized(T * N), sized(T * D), sized(N), sized(p.request.group_count * N)};
  std::vector<double> seen = sized(N);
  for (Index t = 0; t < T; ++t) {
    double* row = w.matrix.data() + t * N;
    double total = 0, keys = 0;
    std::vector<double> values = sized(D);
    for (Index j = 0; j < N; ++j) {
      if (!sees(mask, first_position + t, j)) continue;
      double score = 0;
      for (Index d = 0; d < D; ++d) score += cell(p.q, t, H, h, D, d) * cell(p.k, j, Hkv, kv, D, d);
      total += row[j] = std::exp(score / std::sqrt(static_cast<double>(D)));
      w.score_means[static_cast<std::size_t>(j)] += score;
      seen[static_cast<std::size_t>(j)] += 1;
      keys += 1;
      for (Index d = 0; d < D; ++d) values[static_cast<std::size_t>(d)] += cell(p.v, j, Hkv, kv, D, d);
    }
    const std::int8_t group = p.request.query_groups[static_cast<std::size_t>(t)];
    for (Index j = 0; j < N; ++j) {
      row[j] /= total;
      if (group >= 0) w.column_sums[static_cast<std::size_t>(group * N + j)] += row[j];
      for (Index d = 0; d < D; ++d)
        w.out[static_cast<std::size_t>(t * D + d)] += row[j] * cell(p.v, j, Hkv, kv, D, d);
    }
    double square = 0;
    for (const double v : values) square += v * v;
    w.uniform_norm += std::sqrt(square) / keys / static_cast<double>(T);
  }
  for (std::size_t j = 0; j < seen.size(); ++j) w.score_means[j] /= std::max(1.0, seen[j]);
  return w;
}

void expect_head(std::span<const float> got, Index h, const std::vector<double>& want, const char* what) {
  const std::size_t n = want.size();
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_NEAR(got[static_cast<std::size_t>(h) * n + i], want[i],
                kF32Tolerance.statistics * std::max(1.0, std::abs(want[i])))
        << what << " " << i << " of head " << h;
  }
}

std::vector<ProblemShape> block_problems() {
  std::vector<ProblemShape> all;
  for (const Index size : {1, 3, 4}) {
    for (const Index offset : {0, 1, 2}) {
      const Mask mask = Mask::blocks(size, offset);
      all.push_back({31, 31, 4, 2, 10, mask});    // the whole sequence
      all.push_back({5, 43, 4, 2, 16, mask});     // the last queries, as with a cache
      all.push_back({26, 61, 2, 1, 8, mask, 3});  // more than a strip, and keys after the last query
    }
  }
  return all;
}

class BlockAttention : public testing::TestWithParam<ProblemShape> {};

TEST_P(BlockAttention, IsWhatTheWrittenOutMatrixSays) {
  const Problem p(GetParam());
  const auto& [T, N, H, Hkv, D, mask, after] = p.shape;
  std::vector<NamedBackend> backends = backends_under_test();
  backends.push_back({"reference", make_reference_backend()});
  for (NamedBackend& b : backends) {
    SCOPED_TRACE(b.name);
    const Answer got = run(*b.backend, p, &p.request);
    for (Index h = 0; h < H; ++h) {
      const Witness want = write_out(p, h);
      expect_head(got.stats.matrix, h, want.matrix, "matrix");
      expect_head(got.stats.column_sums, h, want.column_sums, "column sums");
      expect_head(got.stats.score_means, h, want.score_means, "score means");
      EXPECT_NEAR(got.stats.uniform_norm[static_cast<std::size_t>(h / (H / Hkv))], want.uniform_norm,
                  kF32Tolerance.statistics);
      for (Index t = 0; t < T; ++t) {
        const std::span<const float> row =
            std::span(got.out).subspan(static_cast<std::size_t>((t * H + h) * D));
        expect_head(row, 0, {want.out.begin() + t * D, want.out.begin() + (t + 1) * D}, "output");
      }
    }
  }
}

TEST_P(BlockAttention, OnEveryBackendMatchesTheReferenceInEverythingElse) {
  const Problem p(GetParam());
  const Answer want = run(*make_reference_backend(), p, &p.request);
  for (NamedBackend& b : backends_under_test()) {
    SCOPED_TRACE(b.name);
    expect_equal_answers(run(*b.backend, p, &p.request), want, p);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BlockAttention, testing::ValuesIn(block_problems()));

// Sequences of one batch under masks of their own, each against itself alone: not a bit may differ.
TEST(MasksOfABatch, AreEachSequencesOwn) {
  const std::vector<Mask> all = {Mask::kFull, Mask::blocks(4, 1), Mask::kCausal, Mask::blocks(7)};
  const Index H = 4, Hkv = 2, D = 16;
  for (NamedBackend& b : backends_under_test()) {
    SCOPED_TRACE(b.name);
    std::vector<Problem> problems;
    std::vector<Answer> answers(all.size());
    std::vector<AttentionSequence> sequences;
    std::vector<float> q;
    Index rows = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Index N = 23 + 11 * static_cast<Index>(i);
      problems.emplace_back(ProblemShape{N, N, H, Hkv, D, all[i]});
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Problem& p = problems[i];
      sequences.push_back({.first_row = rows,
                           .T = p.shape.T,
                           .k = upload(*b.backend, p.shape.N, Hkv * D, p.k),
                           .v = upload(*b.backend, p.shape.N, Hkv * D, p.v),
                           .mask = p.shape.mask,
                           .request = &p.request,
                           .stats = &answers[i].stats});
      q.insert(q.end(), p.q.begin(), p.q.end());
      rows += p.shape.T;
    }
    const Tensor out = b.backend->allocate_activations(rows, H * D);
    b.backend->attention(
        {.q = upload(*b.backend, rows, H * D, q), .H = H, .Hkv = Hkv, .D = D, .sequences = sequences}, out);
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(name_of(all[i]));
      const Answer alone = run(*b.backend, problems[i], &problems[i].request);
      EXPECT_EQ(download(*b.backend, out.row_range(sequences[i].first_row, sequences[i].T)), alone.out);
      EXPECT_EQ(answers[i].stats.column_sums, alone.stats.column_sums);
      EXPECT_EQ(answers[i].stats.row_means, alone.stats.row_means);
      EXPECT_EQ(answers[i].stats.score_means, alone.stats.score_means);
      EXPECT_EQ(answers[i].stats.uniform_norm, alone.stats.uniform_norm);
    }
  }
}

}  // namespace
}  // namespace buoy
