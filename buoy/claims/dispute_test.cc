// Which side of a dispute the statistic of one claim supports.
#include "buoy/claims/dispute.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace buoy {
namespace {

// A model whose heads keep this share of their keys from step to step, and its shuffled twin.
std::vector<ClaimResult> results_of(double kept, double by_noise, Index samples = 20) {
  SampleTable table, noise;
  for (Index i = 0; i < samples; ++i) {
    const SampleKey key{.model = "mdm", .data = "d", .task = "t", .sample = fmt::to_string(i)};
    const double wave = 0.01 * std::sin(static_cast<double>(i));
    const auto row = [&](double value) {
      return Measurements{{.quantity = "top_kept", .layer = 0, .part = "head writing", .value = value}};
    };
    table.add(key, row(kept + wave));
    noise.add(key, row(by_noise - wave));
  }
  return judge({.models = {{"mdm", Writing::kFillsMasks}},
                .analyses = &table,
                .nulls = {{.kind = NullKind::kShuffled, .analyses = &noise}}});
}

struct Answer {
  std::optional<bool> as_claimed;
  bool no_finding = false;
  friend bool operator==(const Answer&, const Answer&) = default;
};

Answer answer_on_heads(double kept, double by_noise, Index samples = 20) {
  const std::vector<ClaimResult> results = results_of(kept, by_noise, samples);
  for (const Settlement& s : settle(results)) {
    if (s.dispute->claim == "heads-stable") return {.as_claimed = s.as_claimed, .no_finding = s.no_finding};
  }
  ADD_FAILURE() << "no settlement";
  return {};
}

TEST(Dispute, IsDecidedByHowThingsAre) {
  EXPECT_EQ(answer_on_heads(0.95, 0.3), (Answer{.as_claimed = true}));
  EXPECT_EQ(answer_on_heads(0.4, 0.1), (Answer{.as_claimed = false}));
  EXPECT_EQ(answer_on_heads(0.8, 0.1), (Answer{})) << "about δ";
  EXPECT_EQ(answer_on_heads(0.95, 0.3, 9), (Answer{})) << "nine questions";
}

TEST(Dispute, KeysThatStayInNoiseTooStayAllTheSame) {
  EXPECT_EQ(answer_on_heads(0.95, 0.96), (Answer{.as_claimed = true, .no_finding = true}));
}

TEST(Dispute, EachHasAClaimAndPapersOnBothSides) {
  const auto known = [](std::string_view arxiv) {
    return std::ranges::find(papers(), arxiv, &Paper::arxiv) != papers().end();
  };
  EXPECT_EQ(disputes().size(), 3U);
  for (const Dispute& dispute : disputes()) {
    const auto claim = std::ranges::find(claims(), dispute.claim, &Claim::id);
    ASSERT_NE(claim, claims().end()) << dispute.claim;
    EXPECT_NE(std::ranges::find(dispute.claimers, claim->paper), dispute.claimers.end()) << dispute.claim;
    EXPECT_TRUE(std::ranges::all_of(dispute.claimers, known)) << dispute.claim;
    EXPECT_TRUE(std::ranges::all_of(dispute.others, known)) << dispute.claim;
    EXPECT_FALSE(dispute.others.empty()) << dispute.claim;
  }
}

TEST(Dispute, WithoutMeasurementsNothingIsSettled) {
  const std::vector<ClaimResult> results = judge({});
  const std::vector<Settlement> settled = settle(results);
  EXPECT_EQ(settled.size(), 3U);
  for (const Settlement& s : settled) EXPECT_FALSE(s.as_claimed);
}

}  // namespace
}  // namespace buoy
