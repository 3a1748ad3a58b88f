// Attention and its statistics against the reference, and against facts that hold for any attention.
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "base/error.h"
#include "compute/backend.h"
#include "compute/testing.h"

namespace buoy {
namespace {

using namespace testing_support;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kTolerance = 1e-5f;

struct Shape {
  Index T, N, H, Hkv, D;
  Mask mask;
  friend void PrintTo(const Shape& s, std::ostream* out) {
    *out << "T" << s.T << " N" << s.N << " H" << s.H << "/" << s.Hkv << " D" << s.D
         << (s.mask == Mask::kCausal ? " causal" : " full");
  }
};

// Random inputs of one shape with everything asked for.
struct Problem {
  Shape shape;
  std::vector<float> q, k, v, bias, gain;
  AttentionRequest request;

  explicit Problem(const Shape& s) : shape(s) {
    q = random_floats(s.T * s.H * s.D, 1);
    k = random_floats(s.N * s.Hkv * s.D, 2);
    v = random_floats(s.N * s.Hkv * s.D, 3);
    for (float& x : q) x *= 3;  // far from uniform
    request.group_count = 3;
    for (Index t = 0; t < s.T; ++t) request.query_groups.push_back(static_cast<std::int8_t>(t / 5 % 4 - 1));
    request.rows = {s.T - 1, 0, s.T / 2};
    request.key_group_count = 2;
    for (Index j = 0; j < s.N; ++j) request.key_groups.push_back(static_cast<std::int8_t>(j % 3 - 1));
    request.output_norms = request.qk_means = request.matrix = request.states = true;
  }
};

struct Answer {
  std::vector<float> out;
  AttentionStats stats;
};

Answer run(Backend& b, const Problem& p, const AttentionRequest* request) {
  const Shape& s = p.shape;
  Answer answer;
  const AttentionSequence sequence{.first_row = 0,
                                   .T = s.T,
                                   .k = upload(b, s.N, s.Hkv * s.D, p.k),
                                   .v = upload(b, s.N, s.Hkv * s.D, p.v),
                                   .first_position = s.mask == Mask::kCausal ? s.N - s.T : 0,
                                   .key_bias = p.bias,
                                   .head_gain = p.gain,
                                   .request = request,
                                   .stats = &answer.stats};
  const Tensor out = b.allocate(s.T, s.H * s.D);
  b.attention({.q = upload(b, s.T, s.H * s.D, p.q),
               .H = s.H,
               .Hkv = s.Hkv,
               .D = s.D,
               .mask = s.mask,
               .sequences = {&sequence, 1}},
              out);
  answer.out = download(b, out);
  return answer;
}

void expect_close(std::span<const float> got, std::span<const float> want, const char* what,
                  float scale = 1) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], kTolerance * std::max(scale, std::abs(want[i]))) << what << " " << i;
  }
}

void expect_equal_answers(const Answer& got, const Answer& want, const Problem& p) {
  expect_close(got.out, want.out, "output");
  expect_close(got.stats.column_sums, want.stats.column_sums, "column sums");
  expect_close(got.stats.max_weight, want.stats.max_weight, "row maximum");
  expect_close(got.stats.entropy, want.stats.entropy, "entropy", 3);
  expect_close(got.stats.key_mass, want.stats.key_mass, "key mass");
  expect_close(got.stats.mean_output_norm, want.stats.mean_output_norm, "output norm");
  expect_close(got.stats.uniform_norm, want.stats.uniform_norm, "uniform norm");
  expect_close(got.stats.value_norms, want.stats.value_norms, "value norms");
  expect_close(got.stats.score_means, want.stats.score_means, "score means");
  expect_close(got.stats.cosine_means, want.stats.cosine_means, "cosine means");
  expect_close(got.stats.norm_means, want.stats.norm_means, "norm means");
  expect_close(got.stats.key_norms, want.stats.key_norms, "key norms");
  expect_close(got.stats.matrix, want.stats.matrix, "matrix");
  EXPECT_EQ(got.stats.query_states, want.stats.query_states);
  EXPECT_EQ(got.stats.key_states, want.stats.key_states);
  // The argmax may differ only where two keys weigh the same.
  for (std::size_t i = 0; i < got.stats.argmax.size(); ++i) {
    if (got.stats.argmax[i] == want.stats.argmax[i]) continue;
    const Index h = static_cast<Index>(i) / std::ssize(p.request.rows);
    const Index row = p.request.rows[i % p.request.rows.size()];
    const std::size_t base = static_cast<std::size_t>((h * p.shape.T + row) * p.shape.N);
    EXPECT_NEAR(want.stats.matrix[base + static_cast<std::size_t>(got.stats.argmax[i])],
                want.stats.max_weight[i], 1e-6);
  }
}

class Attention : public testing::TestWithParam<Shape> {};

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
    for (const std::int32_t j : got.stats.argmax) ASSERT_EQ(j, -1);
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

INSTANTIATE_TEST_SUITE_P(
    Shapes, Attention,
    testing::Values(Shape{1, 1, 1, 1, 2, Mask::kFull}, Shape{2, 2, 2, 1, 8, Mask::kCausal},
                    Shape{31, 31, 7, 1, 8, Mask::kFull}, Shape{31, 31, 4, 2, 10, Mask::kCausal},
                    Shape{1, 45, 6, 6, 32, Mask::kCausal}, Shape{5, 77, 4, 2, 16, Mask::kCausal},
                    Shape{100, 33, 3, 3, 24, Mask::kFull}, Shape{97, 97, 2, 2, 128, Mask::kCausal},
                    Shape{130, 130, 6, 3, 64, Mask::kFull}, Shape{512, 512, 2, 1, 32, Mask::kFull},
                    Shape{1000, 1000, 1, 1, 32, Mask::kCausal}, Shape{1, 1, 2, 1, 8, Mask::kCausal},
                    Shape{2, 2, 2, 2, 8, Mask::kFull}, Shape{512, 512, 2, 1, 8, Mask::kCausal},
                    Shape{1000, 1000, 2, 1, 8, Mask::kFull}));

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
  }
}

TEST(AttentionCheck, RefusesShapesThatDoNotFit) {
  Problem p({4, 4, 2, 2, 8, Mask::kFull});
  const auto b = make_cpu_backend({.threads = 1});
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
