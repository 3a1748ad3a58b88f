// Attention and its statistics against the reference, and against facts that hold for any attention.
#include <numeric>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/compute/attention_testing.h"
#include "buoy/compute/backend.h"

namespace buoy {
namespace {

using namespace testing_support;

class Attention : public testing::TestWithParam<ProblemShape> {};

TEST_P(Attention, MatchesTheReference) {
  const Problem p(GetParam());
  const Answer want = run(*make_reference_backend(), p, &p.request);
  for (NamedBackend& b : backends_under_test()) {
    SCOPED_TRACE(b.name);
    expect_equal_answers(run(*b.backend, p, &p.request), want, p);
  }
}

TEST_P(Attention, MatchesTheReferenceUnderBiasAndGain) {
  Problem p(GetParam());
  p.bias = random_floats(p.shape.H * p.shape.N, 4);
  for (std::size_t j = 0; j < p.bias.size(); j += 3) p.bias[j] = -kInfinity;
  p.gain = random_floats(p.shape.H, 5);
  const Answer want = run(*make_reference_backend(), p, &p.request);
  for (NamedBackend& b : backends_under_test()) {
    SCOPED_TRACE(b.name);
    const Answer got = run(*b.backend, p, &p.request);
    expect_equal_answers(got, want, p);
    const Index N = p.shape.N;
    for (Index h = 0; h < p.shape.H; ++h) {
      for (Index j = 0; j < N; ++j) {
        if (p.bias[static_cast<std::size_t>(h * N + j)] != -kInfinity) continue;
        for (Index g = 0; g < 3; ++g) {
          EXPECT_EQ(got.stats.column_sums[static_cast<std::size_t>((h * 3 + g) * N + j)], 0.0f);
        }
      }
    }
  }
}

TEST_P(Attention, AFactorOfItsScoresCountsAsInItsQueriesButNotInQkMeans) {
  Problem p(GetParam());
  const AttentionStats plain = run(*make_reference_backend(), p, &p.request).stats;
  Problem multiplied = p;
  p.factor = 0.3f;
  for (float& x : multiplied.q) x *= p.factor;
  Answer want = run(*make_reference_backend(), multiplied, &p.request);
  want.stats.score_means = plain.score_means;
  want.stats.norm_means = plain.norm_means;
  want.stats.query_states = plain.query_states;
  for (NamedBackend& b : backends_under_test()) {
    SCOPED_TRACE(b.name);
    expect_equal_answers(run(*b.backend, p, &p.request), want, p);
  }
}

TEST_P(Attention, RecordingChangesNoBitOfTheOutput) {
  const Problem p(GetParam());
  for (NamedBackend& b : backends_under_test()) {
    EXPECT_EQ(run(*b.backend, p, &p.request).out, run(*b.backend, p, nullptr).out) << b.name;
  }
}

TEST_P(Attention, HiddenKeysEverywhereGiveZeroAndNoNan) {
  Problem p(GetParam());
  p.bias.assign(static_cast<std::size_t>(p.shape.N), -kInfinity);
  for (NamedBackend& b : backends_under_test()) {
    const Answer got = run(*b.backend, p, &p.request);
    for (const float x : got.out) ASSERT_EQ(x, 0.0f);
    for (const float x : got.stats.column_sums) ASSERT_EQ(x, 0.0f);
    for (const float x : got.stats.entropy) ASSERT_EQ(x, 0.0f);
    for (const float x : got.stats.row_means) ASSERT_EQ(x, 0.0f);
    for (const std::int32_t j : got.stats.argmax) ASSERT_EQ(j, -1);
  }
}

// Key 0 is seen by every query under every mask.
TEST_P(Attention, AKeyThatIsNotFiniteMakesEveryRowThatSeesItNan) {
  for (const float spoilt : {std::nanf(""), kInfinity}) {
    Problem p(GetParam());
    p.k[0] = spoilt;  // of key head 0
    for (NamedBackend& b : backends_under_test()) {
      const Answer got = run(*b.backend, p, &p.request);
      EXPECT_NE(first_nonfinite(got.stats), "") << b.name;
      const std::vector<float> plain = run(*b.backend, p, nullptr).out;
      const Index width = p.shape.H * p.shape.D, spoilt_width = p.shape.H / p.shape.Hkv * p.shape.D;
      for (Index i = 0; i < std::ssize(plain); ++i) {
        const bool finite = std::isfinite(plain[static_cast<std::size_t>(i)]);
        if (std::isinf(spoilt)) continue;  // the product may be -inf, which hides a key
        ASSERT_EQ(finite, i % width >= spoilt_width) << b.name << " " << i;
      }
    }
  }
}

TEST_P(Attention, AQueryThatIsNotFiniteSpoilsItsOwnRowAlone) {
  Problem p(GetParam());
  const Index width = p.shape.H * p.shape.D;
  const std::size_t last = static_cast<std::size_t>((p.shape.T - 1) * width);
  for (std::size_t i = last; i < p.q.size(); ++i) p.q[i] = std::nanf("");
  p.request.qk_means = p.request.states = false;
  for (NamedBackend& b : backends_under_test()) {
    const Answer got = run(*b.backend, p, &p.request);
    EXPECT_NE(first_nonfinite(got.stats), "") << b.name;
    for (std::size_t i = 0; i < got.out.size(); ++i)
      ASSERT_EQ(std::isfinite(got.out[i]), i < last) << b.name << " " << i;
  }
}

TEST_P(Attention, ColumnSumsOfAllRowsAddUpToTheNumberOfRows) {
  Problem p(GetParam());
  p.request.query_groups.assign(static_cast<std::size_t>(p.shape.T), 0);
  p.request.group_count = 1;
  for (NamedBackend& b : backends_under_test()) {
    const Answer got = run(*b.backend, p, &p.request);
    for (Index h = 0; h < p.shape.H; ++h) {
      const auto begin = got.stats.column_sums.begin() + h * p.shape.N;
      const double sum = std::accumulate(begin, begin + p.shape.N, 0.0);
      EXPECT_NEAR(sum, static_cast<double>(p.shape.T), 1e-4 * static_cast<double>(p.shape.T));
    }
  }
}

TEST_P(Attention, RowMeansAreTheMatrixAveragedOverHeadsAndAddUpToOne) {
  const Problem p(GetParam());
  const auto [T, N, H] = std::tuple(p.shape.T, p.shape.N, p.shape.H);
  std::vector<NamedBackend> backends = backends_under_test();
  backends.push_back({"reference", make_reference_backend()});
  for (NamedBackend& b : backends) {
    SCOPED_TRACE(b.name);
    const Answer got = run(*b.backend, p, &p.request);
    ASSERT_EQ(std::ssize(got.stats.row_means), std::ssize(p.request.rows) * N);
    for (Index r = 0; r < std::ssize(p.request.rows); ++r) {
      const float* row = got.stats.row_means.data() + r * N;
      EXPECT_NEAR(std::accumulate(row, row + N, 0.0), 1, 1e-5);
      for (Index j = 0; j < N; ++j) {
        double mean = 0;
        for (Index h = 0; h < H; ++h) {
          mean += got.stats.matrix[static_cast<std::size_t>(
                      (h * T + p.request.rows[static_cast<std::size_t>(r)]) * N + j)] /
                  static_cast<double>(H);
        }
        ASSERT_NEAR(row[j], mean, 1e-6) << "row " << r << ", key " << j;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Attention,
    testing::Values(
        ProblemShape{1, 1, 1, 1, 2, Mask::kFull}, ProblemShape{2, 2, 2, 1, 8, Mask::kCausal},
        ProblemShape{31, 31, 7, 1, 8, Mask::kFull}, ProblemShape{31, 31, 4, 2, 10, Mask::kCausal},
        ProblemShape{1, 45, 6, 6, 32, Mask::kCausal}, ProblemShape{5, 77, 4, 2, 16, Mask::kCausal},
        ProblemShape{100, 33, 3, 3, 24, Mask::kFull}, ProblemShape{97, 97, 2, 2, 128, Mask::kCausal},
        ProblemShape{130, 130, 6, 3, 64, Mask::kFull}, ProblemShape{512, 512, 2, 1, 32, Mask::kFull},
        ProblemShape{1000, 1000, 1, 1, 32, Mask::kCausal}, ProblemShape{1, 1, 2, 1, 8, Mask::kCausal},
        ProblemShape{2, 2, 2, 2, 8, Mask::kFull}, ProblemShape{512, 512, 2, 1, 8, Mask::kCausal},
        ProblemShape{1000, 1000, 2, 1, 8, Mask::kFull},
        // Around the height of a strip, up to which the cpu reads keys and values where they lie.
        ProblemShape{1, 301, 4, 2, 128, Mask::kCausal}, ProblemShape{3, 67, 2, 2, 48, Mask::kFull},
        ProblemShape{24, 131, 6, 3, 32, Mask::kCausal}, ProblemShape{25, 131, 6, 3, 32, Mask::kCausal}));

TEST(AttentionBatch, ASequencesAnswerDoesNotDependOnItsBatch) {
  const Problem a({60, 60, 6, 3, 16, Mask::kFull}), c({33, 33, 6, 3, 16, Mask::kFull});
  for (NamedBackend& b : backends_under_test()) {
    const Answer alone = run(*b.backend, a, &a.request);
    std::vector<float> q = c.q;
    q.insert(q.end(), a.q.begin(), a.q.end());
    Answer first, second;
    std::vector<AttentionSequence> sequences;
    const auto add = [&](const Problem& p, Index row, Answer& answer) {
      sequences.push_back({.first_row = row,
                           .T = p.shape.T,
                           .k = upload(*b.backend, p.shape.N, 48, p.k),
                           .v = upload(*b.backend, p.shape.N, 48, p.v),
                           .request = &p.request,
                           .stats = &answer.stats});
    };
    add(c, 0, first);
    add(a, 33, second);
    const Tensor out = b.backend->allocate(93, 96);
    b.backend->attention(
        {.q = upload(*b.backend, 93, 96, q), .H = 6, .Hkv = 3, .D = 16, .sequences = sequences}, out);
    EXPECT_EQ(download(*b.backend, out.row_range(33, 60)), alone.out) << b.name;
    EXPECT_EQ(second.stats.column_sums, alone.stats.column_sums) << b.name;
    EXPECT_EQ(second.stats.entropy, alone.stats.entropy) << b.name;
    EXPECT_EQ(second.stats.row_means, alone.stats.row_means) << b.name;
  }
}

// The last `T` queries of a problem, as a sequence with a cache asks for them.
Problem last_queries(const Problem& whole, Index T) {
  Problem last = whole;
  last.shape.T = T;
  const std::size_t row = static_cast<std::size_t>(whole.shape.H * whole.shape.D);
  last.q.erase(last.q.begin(), last.q.end() - static_cast<Index>(row) * T);
  return last;
}

TEST(AttentionBatch, OnTheCpuTheLastQueriesAloneGiveTheBitsOfTheWholePass) {
  if (!has_cpu_backend()) GTEST_SKIP() << "no cpu backend";
  const auto cpu = make_cpu_backend({.threads = 2});
  for (const Index D : {10, 32, 48}) {
    const Problem whole({77, 77, 4, 2, D, Mask::kCausal});
    const std::vector<float> all = run(*cpu, whole, nullptr).out;
    for (const Index T : {1, 2, 24, 25}) {
      const std::vector<float> want(all.end() - T * 4 * D, all.end());
      EXPECT_EQ(run(*cpu, last_queries(whole, T), nullptr).out, want) << "D " << D << ", T " << T;
    }
  }
}

TEST(AttentionBatch, OnTheCpuNoBitDependsOnTheNumberOfThreads) {
  if (!has_cpu_backend()) GTEST_SKIP() << "no cpu backend";
  const Problem p({130, 130, 6, 3, 16, Mask::kCausal});
  const Answer one = run(*make_cpu_backend({.threads = 1}), p, &p.request);
  const Answer three = run(*make_cpu_backend({.threads = 3}), p, &p.request);
  EXPECT_EQ(one.out, three.out);
  EXPECT_EQ(one.stats.column_sums, three.stats.column_sums);
  EXPECT_EQ(one.stats.row_means, three.stats.row_means);
}

TEST(AttentionCheck, RefusesShapesThatDoNotFit) {
  Problem p({4, 4, 2, 2, 8, Mask::kFull});
  const auto b = make_reference_backend();
  p.request.query_groups.pop_back();
  EXPECT_THROW(run(*b, p, &p.request), InternalError);
  p.request.query_groups.push_back(7);  // no such group
  EXPECT_THROW(run(*b, p, &p.request), InternalError);
  p.request.query_groups.back() = 0;
  p.request.rows.push_back(4);
  EXPECT_THROW(run(*b, p, &p.request), InternalError);
}

}  // namespace
}  // namespace buoy
