// A layer of experts on the card, where all run at once: its routing against the host's, its sums against the
// reference, and the promise of the same bits in any batch.
#include <algorithm>
#include <cmath>
#include <deque>

#include <gtest/gtest.h>

#include "buoy/compute/testing.h"

namespace buoy {
namespace {

using namespace testing_support;

struct ExpertCase {
  Index E, F, count, rows;
  RouterRule rule;
  bool bias;
  friend void PrintTo(const ExpertCase& c, std::ostream* out) {
    *out << c.rows << " rows, E " << c.E << " F " << c.F << ", " << c.rule.active << " of " << c.count;
  }
};

// Weights that bf16 holds exactly, small enough for outputs around 1. Rows are plus and minus ones, which a
// norm only gives its own weights: so the experts' inputs are exact too.
struct ExpertProblem {
  ExpertCase shape;
  std::deque<HostWeight> gates, ups, downs;
  HostWeight router, norm;
  std::vector<float> bias, x;

  static std::vector<float> scaled(std::vector<float> values, double by) {
    for (float& value : values) value = static_cast<float>(value * by);
    return values;
  }

  explicit ExpertProblem(const ExpertCase& c)
      : shape(c),
        router(scaled(random_floats(c.count * c.E, 3), 2 / std::sqrt(static_cast<double>(c.E))),
               {c.count, c.E}, DType::kBf16),
        norm(rounded_to_bf16(random_floats(c.E, 4)), {c.E}, DType::kBf16) {
    const double in = 2 / std::sqrt(static_cast<double>(c.E)), back = 1 / std::sqrt(static_cast<double>(c.F));
    for (std::uint32_t e = 0; e < static_cast<std::uint32_t>(c.count); ++e) {
      gates.emplace_back(scaled(random_floats(c.F * c.E, 100 + 3 * e), in), Shape{c.F, c.E}, DType::kBf16);
      ups.emplace_back(scaled(random_floats(c.F * c.E, 101 + 3 * e), in), Shape{c.F, c.E}, DType::kBf16);
      downs.emplace_back(scaled(random_floats(c.E * c.F, 102 + 3 * e), back), Shape{c.E, c.F}, DType::kBf16);
    }
    if (c.bias) bias = scaled(random_floats(c.count, 5), 0.1);
    x = random_floats(c.rows * c.E, 6);
    for (float& value : x) value = value < 0 ? -1.0f : 1.0f;
  }

  Experts on(Backend& b) const {
    Experts made{.router = b.make_linear({{router.view}}, {}),
                 .bias = bias,
                 .rule = shape.rule,
                 .experts = {},
                 .shared = {}};
    for (std::size_t e = 0; e < gates.size(); ++e) {
      const TensorView gate_up[] = {gates[e].view, ups[e].view}, down[] = {downs[e].view};
      made.experts.push_back({b.make_linear(gate_up, {}), b.make_linear(down, {})});
    }
    return made;
  }
};

struct ExpertAnswer {
  std::vector<float> x, scores;
  Routing routing;
};

// The second half of a layer whose mixer gave nothing, for rows [first, first + count) alone.
ExpertAnswer feed_rows(Backend& b, const ExpertProblem& p, const FeedForward& experts, Index first,
                       Index count) {
  const Index E = p.shape.E, Q = 8;
  const std::vector<float> rows(p.x.begin() + first * E, p.x.begin() + (first + count) * E);
  const Tensor x = b.allocate(count, E), normed = b.allocate_activations(count, E);
  const Tensor scores = b.allocate(count, p.shape.count);
  b.upload(rows, x);
  const HostWeight back(random_floats(E * Q, 7), {E, Q}, DType::kBf16);
  const auto projection = b.make_linear({{back.view}}, {});
  const Norm norm = RmsNorm{b.make_vector(p.norm.view), 0.0f};
  const Tensor nothing = upload(b, count, Q, std::vector<float>(static_cast<std::size_t>(count * Q), 0.0f));
  ExpertAnswer answer;
  b.normalize(norm, x, normed);
  b.linear(normed, *std::get<Experts>(experts).router, Store::kOverwrite, scores);
  b.leave_layer({*projection, norm, experts, &answer.routing}, nothing, x);
  answer.x = download(b, x);
  answer.scores = download(b, scores);
  return answer;
}

class CudaExperts : public testing::TestWithParam<ExpertCase> {
 protected:
  void SetUp() override {
    if (const auto problem = cuda_problem()) GTEST_SKIP() << *problem;
  }
};

TEST_P(CudaExperts, AreThoseThatTheHostWouldChoose) {
  const ExpertProblem p(GetParam());
  for (const auto& card : {cuda_backend(DType::kBf16), ampere_backend()}) {
    const ExpertAnswer got = feed_rows(*card, p, p.on(*card), 0, p.shape.rows);
    Routing want;
    for (Index r = 0; r < p.shape.rows; ++r) {
      route_row(
          p.shape.rule,
          std::span(got.scores)
              .subspan(static_cast<std::size_t>(r * p.shape.count), static_cast<std::size_t>(p.shape.count)),
          p.bias, want);
    }
    EXPECT_EQ(got.routing.active, want.active);
    EXPECT_EQ(got.routing.experts, want.experts);
    ASSERT_EQ(got.routing.weights.size(), want.weights.size());
    for (std::size_t i = 0; i < want.weights.size(); ++i) {
      ASSERT_NEAR(got.routing.weights[i], want.weights[i], 1e-6f * want.weights[i]) << i;
    }
  }
}

TEST_P(CudaExperts, AddUpToWhatTheReferenceSays) {
  const ExpertProblem p(GetParam());
  const auto reference = make_reference_backend();
  const ExpertAnswer want = feed_rows(*reference, p, p.on(*reference), 0, p.shape.rows);
  for (const auto& card : {cuda_backend(DType::kBf16), ampere_backend()}) {
    const ExpertAnswer got = feed_rows(*card, p, p.on(*card), 0, p.shape.rows);
    ASSERT_EQ(got.routing.experts, want.routing.experts);
    ASSERT_EQ(got.x.size(), want.x.size());
    for (std::size_t i = 0; i < got.x.size(); ++i) {
      ASSERT_NEAR(got.x[i], want.x[i], kBf16Tolerance.values * std::max(1.0f, std::abs(want.x[i]))) << i;
    }
  }
}

TEST_P(CudaExperts, GiveARowTheSameBitsInAnyBatchAndEveryTime) {
  const ExpertProblem p(GetParam());
  for (const auto& card : {cuda_backend(DType::kBf16), ampere_backend()}) {
    const FeedForward experts = p.on(*card);
    const ExpertAnswer all = feed_rows(*card, p, experts, 0, p.shape.rows);
    for (const Index count : {Index{1}, p.shape.rows / 3, p.shape.rows}) {
      if (count == 0) continue;
      const Index first = p.shape.rows - count;
      const ExpertAnswer some = feed_rows(*card, p, experts, first, count);
      EXPECT_TRUE(
          std::ranges::equal(some.x, std::span(all.x).subspan(static_cast<std::size_t>(first * p.shape.E))))
          << count << " rows";
    }
  }
}

constexpr RouterRule kSoftmaxRule{.kind = RouterKind::kSoftmax, .active = 4};
constexpr RouterRule kNormalizedRule{.kind = RouterKind::kSoftmax, .active = 2, .normalize = true};
constexpr RouterRule kGroupedRule{.kind = RouterKind::kSigmoid,
                                  .active = 8,
                                  .groups = 8,
                                  .kept_groups = 4,
                                  .normalize = true,
                                  .scale = 2.5f};

INSTANTIATE_TEST_SUITE_P(Shapes, CudaExperts,
                         testing::Values(ExpertCase{64, 64, 8, 1, kSoftmaxRule, false},
                                         ExpertCase{48, 24, 12, 37, kSoftmaxRule, true},
                                         ExpertCase{136, 72, 5, 200, kNormalizedRule, false},
                                         // More rows to an expert than a tile has, by much and by one.
                                         ExpertCase{192, 128, 4, 300, kNormalizedRule, false},
                                         ExpertCase{320, 64, 4, 129, kSoftmaxRule, false},
                                         ExpertCase{512, 192, 64, 70, kGroupedRule, true},
                                         ExpertCase{64, 64, 256, 301, kGroupedRule, true}));

}  // namespace
}  // namespace buoy
