// The split of an advantage in score into direction and length.
#include "buoy/analysis/qk.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

struct Keys {
  std::vector<float> scores, norms;
};

Keys random_keys(std::uint32_t stream, Index n) {
  Keys keys;
  for (Index j = 0; j < n; ++j) {
    keys.norms.push_back(static_cast<float>(0.1 + 5 * draw(stream, 2 * j)));
    keys.scores.push_back(static_cast<float>(10 * draw(stream, 2 * j + 1) - 5));
  }
  return keys;
}

double mean_difference(const std::vector<float>& values, const std::vector<Index>& group) {
  double inside = 0, total = 0;
  for (const float value : values) total += value;
  for (const Index j : group) inside += values[j];
  const double a = static_cast<double>(group.size()), n = static_cast<double>(values.size());
  return inside / a - (total - inside) / (n - a);
}

TEST(Attribution, PartsAddUpToTheAdvantage) {
  for (std::uint32_t stream = 0; stream < 50; ++stream) {
    Keys keys = random_keys(stream, 17);
    if (stream % 5 == 0) keys.norms[4] = keys.scores[4] = 0;
    const std::vector<Index> group = {1, 4, 11};
    const Attribution parts = attribute(keys.scores, keys.norms, group);
    const double scale = std::abs(parts.angle) + std::abs(parts.scale) + std::abs(parts.covariance);
    EXPECT_NEAR(parts.angle + parts.scale + parts.covariance, parts.total, 1e-9 * scale);
    EXPECT_NEAR(parts.total, mean_difference(keys.scores, group), 1e-9 * scale);
  }
}

TEST(Attribution, KeysThatDifferOnlyInLengthOweItToScale) {
  const std::vector<float> norms = {1, 4, 1, 1}, scores = {0.5, 2, 0.5, 0.5};
  const Attribution parts = attribute(scores, norms, std::vector<Index>{1});
  EXPECT_NEAR(parts.scale, 1.5, 1e-12);
  EXPECT_NEAR(parts.angle, 0, 1e-12);
  EXPECT_NEAR(parts.covariance, 0, 1e-12);
}

TEST(Attribution, KeysThatDifferOnlyInDirectionOweItToAngle) {
  const std::vector<float> norms = {2, 2, 2, 2}, scores = {1, 3, 1, 1};
  const Attribution parts = attribute(scores, norms, std::vector<Index>{1});
  EXPECT_NEAR(parts.angle, 2, 1e-12);
  EXPECT_NEAR(parts.scale, 0, 1e-12);
}

TEST(Attribution, WhatLengthAndDirectionDoTogetherIsCovariance) {
  // The group has the same mean length 2 and mean direction 0 as the other, but long keys point the right
  // way.
  const std::vector<float> norms = {3, 1, 2, 2}, scores = {3, -1, 0, 0};
  const Attribution parts = attribute(scores, norms, std::vector<Index>{0, 1});
  EXPECT_NEAR(parts.covariance, 1, 1e-12);
  EXPECT_NEAR(parts.total, 1, 1e-12);
}

TEST(Qk, DeltasAreMeansOverAnchorsLessMeansOverOthers) {
  Trace trace = uniform_trace({.L = 1});
  spike_finished(trace, {6}, 0.5);
  for (Index h = 0; h < 4; ++h) {
    trace.finished.score_means[h * 24 + 6] = static_cast<float>(h);
    trace.finished.cosine_means[h * 24 + 6] = 0.5F;
    trace.finished.norm_means[h * 24 + 6] = 2.5F;
  }
  const Measurements found = qk(trace, {});
  EXPECT_NEAR(value_of(found, {.quantity = "delta_score", .layer = 0}), 1.5, 1e-6);
  EXPECT_NEAR(value_of(found, {.quantity = "delta_cosine", .layer = 0}), 0.5, 1e-6);
  EXPECT_NEAR(value_of(found, {.quantity = "delta_norm", .layer = 0}), 1, 1e-6);
  EXPECT_NEAR(value_of(found, {.quantity = "attribution_total", .layer = 0}), 1.5, 1e-6);
}

TEST(Qk, SharesAreRatiosOfSumsOverHeadsWithTheirOwnKeyHead) {
  Trace trace = uniform_trace({.L = 1});
  spike_finished(trace, {6}, 0.5);
  std::ranges::fill(trace.finished.key_norms, 2.0F);
  std::ranges::fill(trace.finished.score_means, 1.0F);
  // Heads 0 and 1 read key head 0, where the anchor is longer; heads 2 and 3 see it only point better.
  trace.finished.key_norms[6] = 6;
  trace.finished.score_means[0 * 24 + 6] = trace.finished.score_means[1 * 24 + 6] = 3;
  trace.finished.score_means[2 * 24 + 6] = trace.finished.score_means[3 * 24 + 6] = 7;
  const Measurements found = qk(trace, {});
  const Measurement* angle = look_up(found, {.quantity = "angle_share", .layer = 0});
  ASSERT_TRUE(angle);
  EXPECT_NEAR(angle->weight, 2 * 2 + 2 * 6, 1e-6);
  EXPECT_NEAR(angle->value, 2 * 6, 1e-6);
  EXPECT_NEAR(value_of(found, {.quantity = "scale_share", .layer = 0}), 4.0 / 16, 1e-6);
  EXPECT_NEAR(value_of(found, {.quantity = "attribution_scale", .layer = 0}), 4.0 / 4, 1e-6);
  EXPECT_NEAR(value_of(found, {.quantity = "covariance_share", .layer = 0}), 0, 1e-6);
}

TEST(Qk, WithoutAnchorsOrWithoutOthersThereIsNothingToCompare) {
  const Trace trace = uniform_trace();
  EXPECT_TRUE(qk(trace, {}).empty());
  EXPECT_TRUE(qk(trace, {.anchors = {.rule = AnchorRule::kTopK, .k = 24}}).empty());
  EXPECT_FALSE(qk(trace, {.anchors = {.rule = AnchorRule::kTopK, .k = 23}}).empty());
}

struct Factors {
  std::vector<float> scores = std::vector<float>(6, 0.1f), norms = std::vector<float>(6, 2.0f),
                     cosines = std::vector<float>(6, 0.5f), recencies = std::vector<float>(6, 0.1f);
  const Index anchors[2] = {1, 4};
  std::optional<LogAttribution> attribution() const {
    return attribute_logs({scores, norms, cosines, recencies}, anchors);
  }
};

TEST(LogAttribution, FindsNothingWhereAllKeysAreAlike) {
  const LogAttribution parts = *Factors().attribution();
  EXPECT_EQ(parts.total, 0);
  EXPECT_EQ(parts.recency, 0);
}

TEST(LogAttribution, GivesEachFactorItsOwnLogarithm) {
  Factors f;
  f.recencies[1] = f.recencies[4] = 0.4f;  // four times the others
  f.cosines[1] = 1;                        // twice, in one of two
  f.norms[4] = 0.5f;                       // a quarter
  const LogAttribution parts = *f.attribution();
  EXPECT_NEAR(parts.recency, std::log(4), 1e-6);
  EXPECT_NEAR(parts.angle, std::log(2) / 2, 1e-6);
  EXPECT_NEAR(parts.scale, -std::log(4) / 2, 1e-6);
  EXPECT_NEAR(parts.total, parts.angle + parts.scale + parts.recency, 1e-12);
}

TEST(LogAttribution, LeavesOutKeysThatReceiveNothing) {
  Factors f;
  f.recencies[0] = f.cosines[2] = 0;
  EXPECT_EQ(f.attribution()->total, 0);
  f.recencies[1] = f.recencies[4] = 0;
  EXPECT_FALSE(f.attribution());
}

// Recency takes the place of covariance, in state space layers alone.
TEST(Qk, StateSpaceLayersHaveRecencyAsTheirThirdFactor) {
  Trace trace = uniform_trace({.L = 2});
  spike_finished(trace, {6}, 0.5);
  for (auto* means : {&trace.finished.score_means, &trace.finished.cosine_means, &trace.finished.norm_means})
    std::ranges::fill(*means, 0.5f);
  const auto has = [&](const char* quantity, Index layer) {
    const Measurements all = qk(trace, {});
    return std::ranges::any_of(
        all, [&](const Measurement& m) { return m.quantity == quantity && m.layer == layer; });
  };
  EXPECT_TRUE(has("attribution_covariance", 0) && has("attribution_covariance", 2));
  EXPECT_FALSE(has("attribution_recency", 0) || has("attribution_recency", 2));
  trace.header.mixers.assign(4, MixerKind::kAttention);
  trace.header.mixers[0] = MixerKind::kSsd;
  trace.finished.recency_means.assign(trace.finished.score_means.size(), 0.5f);
  EXPECT_TRUE(has("attribution_recency", 0) && has("delta_recency", 0));
  for (const Measurement& m : qk(trace, {})) EXPECT_EQ(m.part, m.layer == 0 ? "ssd" : "") << m.quantity;
  EXPECT_FALSE(has("attribution_covariance", 0));
  EXPECT_TRUE(has("attribution_covariance", 2));
  EXPECT_FALSE(has("attribution_recency", 2));
}

}  // namespace
}  // namespace buoy
