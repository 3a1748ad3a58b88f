// Experts: a router that draws at random shows nothing, one that goes by the token shows it.
#include "buoy/analysis/experts.h"

#include <gtest/gtest.h>

#include "buoy/analysis/analyses.h"
#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

constexpr Index kCount = 8, kActive = 2, kN = 200, kSteps = 6;

// 200 positions, the last 60 generated, ten by each step; layer 0 of one.
Trace expert_trace() {
  Trace trace = uniform_trace({.N = kN, .G = 60, .L = 1, .S = kSteps});
  trace.header.experts = kCount;
  trace.header.active_experts = kActive;
  return trace;
}

// `choose(t, j)` is the first expert of position j at step t (kSteps: the finished pass), the next the other.
template <class Choose>
void route(Trace& trace, const Choose& choose) {
  for (Index t = 0; t <= kSteps; ++t) {
    auto& experts = t == kSteps ? trace.finished.experts : trace.steps.experts;
    auto& weights = t == kSteps ? trace.finished.expert_weights : trace.steps.expert_weights;
    for (Index j = 0; j < kN; ++j) {
      for (const Index e : choose(t, j)) experts.push_back(static_cast<std::int32_t>(e));
      weights.insert(weights.end(), {0.5F, 0.5F});
    }
  }
}

using Chosen = std::vector<Index>;

// Two different experts, all pairs alike; `groups` of equal size, both out of one.
Chosen draw(Index seed, Index t, Index j, Index groups = 1) {
  const DrawKey key{.seed = static_cast<std::uint64_t>(seed),
                    .sample = 0,
                    .step = static_cast<std::uint32_t>(t),
                    .position = static_cast<std::uint32_t>(j)};
  const Index size = kCount / groups;
  const auto below = [&](Index n, std::uint32_t draw) {
    return static_cast<Index>(uniform(key, draw) * static_cast<double>(n));
  };
  const Index first = below(size, 0), other = (first + 1 + below(size - 1, 1)) % size;
  const Index group = below(groups, 2) * size;
  return {group + first, group + other};
}

double value(const Trace& trace, std::string_view quantity, std::string_view part, Index head = -1) {
  return value_of(experts(trace, {}), {.quantity = quantity, .layer = 0, .head = head, .part = part});
}

double null_of(const Trace& trace, std::string_view quantity, std::string_view part) {
  const Measurements made = measure(*find_analysis("experts"), TraceWithNull(trace), {});
  const Measurement* m = look_up(made, {.quantity = quantity, .layer = 0, .part = part});
  EXPECT_TRUE(m != nullptr && m->null);
  return m != nullptr ? m->null.value_or(NAN) : NAN;
}

TEST(Experts, ARandomRouterShowsNothing) {
  for (const Index groups : {1, 2}) {
    Trace trace = expert_trace();
    route(trace, [&](Index t, Index j) { return draw(7, t, j, groups); });
    // About 200 rows, or 1000 pairs of passes: chance itself scatters by a few hundredths.
    EXPECT_NEAR(value(trace, "expert_load_entropy", "finished"),
                null_of(trace, "expert_load_entropy", "finished"), 0.01);
    EXPECT_NEAR(value(trace, "expert_weight_entropy", "finished"), 1, 1e-9);
    for (const char* part : {"finished", "masks", "words", "masks and words"})
      EXPECT_NEAR(value(trace, "expert_agreement", part), 0, 0.03) << part << " " << groups;
    for (const char* part : {"masks", "words"})
      EXPECT_NEAR(value(trace, "expert_overlap", part), 0, 0.06) << part << " " << groups;
    EXPECT_NEAR(value(trace, "expert_overlap", "written"), 0, 0.2);
    EXPECT_EQ(null_of(trace, "expert_overlap", "words"), 0);
  }
}

TEST(Experts, ARouterThatGoesByTheTokenShowsWhereWordsAndMasksGo) {
  Trace trace = expert_trace();
  const auto masked = [&](Index t, Index j) {
    return t < kSteps && trace.steps.tokens[t * kN + j] == kTestMask;
  };
  // Masks go to 0 and 1, words to two of the others by their place.
  route(trace, [&](Index t, Index j) { return masked(t, j) ? Chosen{0, 1} : Chosen{2 + j % 3, 5 + j % 3}; });
  EXPECT_NEAR(value(trace, "expert_agreement", "masks"), 1, 1e-9);
  EXPECT_NEAR(value(trace, "expert_agreement", "masks and words"), -1.0 / 3, 1e-9);  // (0 − 1/4) ÷ (3/4)
  EXPECT_NEAR(value(trace, "expert_overlap", "masks"), 1, 1e-9);
  EXPECT_NEAR(value(trace, "expert_overlap", "words"), 1, 1e-9);
  EXPECT_NEAR(value(trace, "expert_overlap", "written"), -1.0 / 3, 1e-9);
  EXPECT_EQ(value(trace, "expert_load", "finished", 0), 0);
  EXPECT_NEAR(value(trace, "expert_load", "finished", 2), 67.0 / 50,
              1e-9);  // 67 of 200 rows, even would be 50
  EXPECT_LT(value(trace, "expert_load_entropy", "finished"),
            null_of(trace, "expert_load_entropy", "finished") - 0.1);
}

TEST(Experts, LoadThatIsEvenHasTheLargestEntropy) {
  Trace trace = expert_trace();
  route(trace, [](Index, Index j) { return Chosen{j % 8, (j + 4) % 8}; });
  EXPECT_NEAR(value(trace, "expert_load_entropy", "finished"), 1, 1e-9);
  for (Index e = 0; e < kCount; ++e) EXPECT_NEAR(value(trace, "expert_load", "finished", e), 1, 1e-9);
  // Two rows meet by place alone: of 199 others 24 have both experts the same way round, 25 the other way.
  EXPECT_NEAR(value(trace, "expert_agreement", "finished"), (49.0 / 199 - 0.25) / 0.75, 1e-9);
}

// Every outcome of three rows that draw two of four experts, written out.
TEST(Experts, TheNullOfLoadIsTheMeanOverAllDraws) {
  const std::vector<Chosen> pairs = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  double total = 0;
  for (const Chosen& a : pairs) {
    for (const Chosen& b : pairs) {
      for (const Chosen& c : pairs) {
        std::vector<double> counts(4);
        for (const Chosen& row : {a, b, c}) {
          for (const Index e : row) counts[e] += 1;
        }
        for (const double n : counts) total -= n > 0 ? n / 6 * std::log(n / 6) : 0;
      }
    }
  }
  EXPECT_NEAR(uniform_load_entropy(3, 2, 4), total / 216 / std::log(4.0), 1e-12);
  EXPECT_EQ(uniform_load_entropy(3, 4, 4), 1);
  EXPECT_NEAR(uniform_load_entropy(4000, 8, 64), 1, 1e-3);
}

TEST(Experts, OnlyRowsThatWentThroughThemCount) {
  Trace trace = expert_trace();
  route(trace, [&](Index, Index j) { return j < 100 ? Chosen{0, 1} : Chosen{-1, -1}; });
  EXPECT_NEAR(value(trace, "expert_load", "finished", 0), 4, 1e-9);
  EXPECT_NEAR(value(trace, "expert_agreement", "finished"), 1, 1e-9);
  Measurements made = experts(trace, {});
  EXPECT_EQ(look_up(made, {.quantity = "expert_overlap", .layer = 0, .part = "masks"}), nullptr);
  trace.steps.steps = {0, 2, 4, 6, 8, 10};  // no two passes that follow each other
  made = experts(trace, {});
  EXPECT_EQ(look_up(made, {.quantity = "expert_overlap", .layer = 0, .part = "words"}), nullptr);
  EXPECT_NE(look_up(made, {.quantity = "expert_agreement", .layer = 0, .part = "words"}), nullptr);
}

TEST(Experts, AModelWithoutThemHasNoNumbers) {
  EXPECT_TRUE(experts(uniform_trace(), {}).empty());
}

}  // namespace
}  // namespace buoy
