// Random attention problems, their answers on a backend, and the comparison of two answers.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "buoy/compute/testing.h"

namespace buoy::testing_support {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct ProblemShape {
  Index T, N, H, Hkv, D;
  Mask mask;
  Index after = 0;  // keys after the last query, unless the mask is full
  friend void PrintTo(const ProblemShape& s, std::ostream* out) {
    *out << "T" << s.T << " N" << s.N << " H" << s.H << "/" << s.Hkv << " D" << s.D << " " << name_of(s.mask)
         << (s.after > 0 ? " and keys after" : "");
  }
};

// Random inputs of one shape with everything asked for.
struct Problem {
  ProblemShape shape;
  std::vector<float> q, k, v, bias, gain;
  float factor = 1;
  AttentionRequest request;

  explicit Problem(const ProblemShape& s) : shape(s) {
    q = random_floats(s.T * s.H * s.D, 1);
    k = random_floats(s.N * s.Hkv * s.D, 2);
    v = random_floats(s.N * s.Hkv * s.D, 3);
    for (float& x : q) x *= 3;  // far from uniform
    request.group_count = 3;
    for (Index t = 0; t < s.T; ++t) request.query_groups.push_back(static_cast<std::int8_t>(t / 5 % 4 - 1));
    request.rows = {s.T - 1, 0, s.T / 2};
    request.key_group_count = 2;
    for (Index j = 0; j < s.N; ++j) request.key_groups.push_back(static_cast<std::int8_t>(j % 3 - 1));
    request.row_means = request.output_norms = request.qk_means = request.matrix = request.states = true;
  }
};

struct Answer {
  std::vector<float> out;
  AttentionStats stats;
};

inline Answer run(Backend& b, const Problem& p, const AttentionRequest* request) {
  const ProblemShape& s = p.shape;
  Answer answer;
  const AttentionSequence sequence{.first_row = 0,
                                   .T = s.T,
                                   .k = upload(b, s.N, s.Hkv * s.D, p.k),
                                   .v = upload(b, s.N, s.Hkv * s.D, p.v),
                                   .first_position = s.mask == Mask::kFull ? 0 : s.N - s.T - s.after,
                                   .key_bias = p.bias,
                                   .head_gain = p.gain,
                                   .request = request,
                                   .stats = &answer.stats};
  const Tensor out = b.allocate_activations(s.T, s.H * s.D);
  b.attention({.q = upload(b, s.T, s.H * s.D, p.q),
               .H = s.H,
               .Hkv = s.Hkv,
               .D = s.D,
               .mask = s.mask,
               .sequences = {&sequence, 1},
               .factor = p.factor},
              out);
  answer.out = download(b, out);
  return answer;
}

inline void expect_close(std::span<const float> got, std::span<const float> want, const char* what,
                         float tolerance, float scale = 1) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * std::max(scale, std::abs(want[i]))) << what << " " << i;
  }
}

inline void expect_equal_answers(const Answer& got, const Answer& want, const Problem& p,
                                 const Tolerance& tolerance = kF32Tolerance) {
  expect_close(got.out, want.out, "output", tolerance.values);
  expect_close(got.stats.column_sums, want.stats.column_sums, "column sums", tolerance.statistics);
  expect_close(got.stats.max_weight, want.stats.max_weight, "row maximum", tolerance.statistics);
  expect_close(got.stats.entropy, want.stats.entropy, "entropy", tolerance.statistics, 3);
  expect_close(got.stats.key_mass, want.stats.key_mass, "key mass", tolerance.statistics);
  expect_close(got.stats.row_means, want.stats.row_means, "row means", tolerance.statistics);
  expect_close(got.stats.mean_output_norm, want.stats.mean_output_norm, "output norm", tolerance.values);
  expect_close(got.stats.uniform_norm, want.stats.uniform_norm, "uniform norm", tolerance.statistics);
  expect_close(got.stats.value_norms, want.stats.value_norms, "value norms", tolerance.statistics);
  expect_close(got.stats.score_means, want.stats.score_means, "score means", tolerance.statistics);
  expect_close(got.stats.cosine_means, want.stats.cosine_means, "cosine means", tolerance.statistics);
  expect_close(got.stats.norm_means, want.stats.norm_means, "norm means", tolerance.statistics);
  expect_close(got.stats.key_norms, want.stats.key_norms, "key norms", tolerance.statistics);
  expect_close(got.stats.matrix, want.stats.matrix, "matrix", tolerance.statistics);
  EXPECT_EQ(got.stats.query_states, want.stats.query_states);
  EXPECT_EQ(got.stats.key_states, want.stats.key_states);
  // The argmax may differ only where two keys weigh the same.
  for (std::size_t i = 0; i < got.stats.argmax.size(); ++i) {
    if (got.stats.argmax[i] == want.stats.argmax[i]) continue;
    const Index h = static_cast<Index>(i) / std::ssize(p.request.rows);
    const Index row = p.request.rows[i % p.request.rows.size()];
    const std::size_t base = static_cast<std::size_t>((h * p.shape.T + row) * p.shape.N);
    EXPECT_NEAR(want.stats.matrix[base + static_cast<std::size_t>(got.stats.argmax[i])],
                want.stats.max_weight[i], tolerance.statistics / 10);
  }
}

}  // namespace buoy::testing_support
