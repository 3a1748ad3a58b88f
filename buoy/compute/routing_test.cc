// Routers against what can be worked out by hand.
#include "buoy/compute/routing.h"

#include <cmath>

#include <gtest/gtest.h>

namespace buoy {
namespace {

Routing route(const RouterRule& rule, const std::vector<float>& scores, const std::vector<float>& bias = {}) {
  Routing routing;
  route_row(rule, scores, bias, routing);
  return routing;
}

float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

TEST(Routing, SoftmaxWeightsAreProbabilitiesAndNotRenormalised) {
  const float third = std::log(3.0f), half = std::log(6.0f);  // of 1 + 3 + 6 + 2
  const Routing routed = route({.active = 2}, {0, third, half, std::log(2.0f)});
  EXPECT_EQ(routed.experts, (std::vector<std::int32_t>{2, 1}));
  EXPECT_NEAR(routed.weights[0], 6.0 / 12, 1e-6);
  EXPECT_NEAR(routed.weights[1], 3.0 / 12, 1e-6);
}

TEST(Routing, SoftmaxWeightsAreDividedByTheirSumWhereAsked) {
  const Routing routed = route({.active = 2, .normalize = true}, {0, std::log(3.0f), std::log(6.0f)});
  EXPECT_NEAR(routed.weights[0], 6.0 / 9, 1e-6);
  EXPECT_NEAR(routed.weights[0] + routed.weights[1], 1, 1e-6);
}

TEST(Routing, TheBiasOfSoftmaxIsPartOfTheWeight) {
  const Routing routed = route({.active = 1}, {0, 0}, {0, 0.25f});
  EXPECT_EQ(routed.experts, (std::vector<std::int32_t>{1}));
  EXPECT_NEAR(routed.weights[0], 0.75, 1e-6);
}

TEST(Routing, TheBiasOfSigmoidChoosesAndDoesNotWeigh) {
  const RouterRule rule{.kind = RouterKind::kSigmoid, .active = 2, .normalize = true, .scale = 2.5f};
  const Routing routed = route(rule, {2, 1, 0}, {0, 0, 1});
  EXPECT_EQ(routed.experts, (std::vector<std::int32_t>{2, 0}));
  const float total = sigmoid(0) + sigmoid(2);
  EXPECT_NEAR(routed.weights[0], 2.5f * sigmoid(0) / total, 1e-6);
  EXPECT_NEAR(routed.weights[1], 2.5f * sigmoid(2) / total, 1e-6);
}

TEST(Routing, OnlyTheBestGroupsAreChosenFrom) {
  // The best expert of all is in a group whose two best add up to less.
  const RouterRule rule{.kind = RouterKind::kSigmoid, .active = 2, .groups = 2, .kept_groups = 1};
  EXPECT_EQ(route(rule, {3, -5, -5, 1, 2, -5}).experts, (std::vector<std::int32_t>{4, 3}));
  EXPECT_EQ(route({.kind = RouterKind::kSigmoid, .active = 2}, {3, -5, -5, 1, 2, -5}).experts,
            (std::vector<std::int32_t>{0, 4}));
}

TEST(Routing, TiesGoToTheLowestNumber) {
  EXPECT_EQ(route({.active = 3}, {1, 1, 1, 1}).experts, (std::vector<std::int32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace buoy
