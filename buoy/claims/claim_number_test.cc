// What one sample contributes to a claim, and that the place of a passage is told from its being gold.
#include "buoy/claims/claim_number.h"

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/run/collect.h"

namespace buoy {
namespace {

SampleKey key(const char* model, Index sample, std::string data) {
  return {.model = model, .data = std::move(data), .task = "t", .sample = fmt::to_string(sample)};
}

// A sample's number for a side, with layers 0 … L−1 recorded.
std::optional<ClaimNumber> number(const ClaimSide& side, const Measurements& rows, Index L,
                                  const char* data = "d") {
  SampleTable table;
  table.add(key("m", 0, data), rows);
  std::set<Index> layers;
  for (Index l = 0; l < L; ++l) layers.insert(l);
  return number_of(side, rows_of(table, "m", side.quantity).at(0), layers);
}

TEST(ClaimNumber, DepthsAreThirdsAndHalvesOfTheRecordedLayers) {
  Measurements rows;
  for (Index l = 0; l < 7; ++l) {
    const double value = static_cast<double>(1 << l);
    rows.push_back({.quantity = "x", .layer = l, .value = value, .null = value / 2});
    rows.push_back({.quantity = "x", .layer = l, .head = 0, .value = 1000});
    rows.push_back({.quantity = "x", .layer = l, .part = "other", .value = 1000});
  }
  const auto at = [&](LayerChoice layers) { return *number({.quantity = "x", .layers = layers}, rows, 7); };
  EXPECT_DOUBLE_EQ(at(LayerChoice::kAll).value, 127.0 / 7);
  EXPECT_DOUBLE_EQ(at(LayerChoice::kShallowThird).value, 1.5);
  EXPECT_DOUBLE_EQ(at(LayerChoice::kDeepThird).value, 48);
  EXPECT_DOUBLE_EQ(*at(LayerChoice::kDeepThird).null, 24);
  EXPECT_DOUBLE_EQ(at(LayerChoice::kDeepHalf).value, 120.0 / 4) << "layers 3, 4, 5 and 6";
}

TEST(ClaimNumber, OneLayerHasNoDepth) {
  const Measurements rows = {{.quantity = "x", .layer = 0, .value = 1}};
  EXPECT_FALSE(number({.quantity = "x", .layers = LayerChoice::kDeepThird}, rows, 1));
  EXPECT_TRUE(number({.quantity = "x"}, rows, 1));
}

TEST(ClaimNumber, RatiosOfSumsKeepTheirWeights) {
  const Measurements rows = {{.quantity = "x", .layer = 0, .value = 1, .weight = 2},
                             {.quantity = "x", .layer = 1, .value = 5, .weight = 6}};
  const auto found = *number({.quantity = "x"}, rows, 2);
  EXPECT_DOUBLE_EQ(found.value / found.weight, 6.0 / 8);
}

TEST(ClaimNumber, HeadShareIsOfAllCopying) {
  Measurements rows;
  for (Index head = 0; head < 10; ++head) {  // five layers of two heads; copying in layers 1 and 4
    rows.push_back({.quantity = "copy",
                    .layer = head / 2,
                    .head = head % 2,
                    .part = "all",
                    .value = head == 2   ? 0.25
                             : head >= 8 ? 0.5
                                         : 0});
  }
  const ClaimSide side{.number = SampleNumber::kHeadShare,
                       .quantity = "copy",
                       .part = "all",
                       .layers = LayerChoice::kDeepHalf};
  const auto found = *number(side, rows, 5);
  EXPECT_DOUBLE_EQ(found.value / found.weight, 0.8);
  EXPECT_DOUBLE_EQ(*found.null, 0.6) << "three of five layers are the deep half";
  for (Measurement& m : rows) m.value = 0;
  EXPECT_FALSE(number(side, rows, 5)) << "no copying, no share";
}

TEST(ClaimNumber, GainNeedsBothConditions) {
  const ClaimSide side{
      .number = SampleNumber::kDifference, .quantity = "em", .part = "given", .less = "none"};
  Measurements rows = {{.quantity = "em", .part = "given", .value = 100}};
  EXPECT_FALSE(number(side, rows, 0));
  rows.push_back({.quantity = "em", .part = "none", .value = 0});
  EXPECT_DOUBLE_EQ(number(side, rows, 0)->value, 100);
}

TEST(ClaimNumber, RangeIsOverThePartsOfOneStressor) {
  const ClaimSide side{.number = SampleNumber::kRange, .quantity = "em", .part = "gold-position="};
  Measurements rows = {{.quantity = "em", .part = "irrelevant=0.4", .value = 0},
                       {.quantity = "em", .part = "gold-position=1", .value = 100}};
  EXPECT_FALSE(number(side, rows, 0)) << "one place is no range";
  rows.push_back({.quantity = "em", .part = "gold-position=5", .value = 100});
  EXPECT_DOUBLE_EQ(number(side, rows, 0)->value, 0);
  rows.push_back({.quantity = "em", .part = "gold-position=9", .value = 0});
  EXPECT_DOUBLE_EQ(number(side, rows, 0)->value, 100);
}

// Six passages and four layers. In the deep two, place p draws pull[p] times as much as it would under
// uniform attention, the gold one `gold` times as much again; in the others a passage draws by its number
// alone.
Measurements flows(std::array<double, 6> pull, Index gold_place, double gold) {
  Measurements rows;
  for (Index p = 1; p <= 6; ++p) {
    const double uniform = 0.01 * static_cast<double>(p);
    const double deep = uniform * pull[static_cast<std::size_t>(p - 1)] * (p == gold_place ? gold : 1);
    for (Index l = 0; l < 4; ++l) {
      rows.push_back({.quantity = "direct_per_token",
                      .layer = l,
                      .part = fmt::format("Answer>Doc{}", p),
                      .value = l < 2 ? static_cast<double>(p) : deep,
                      .null = uniform});
    }
  }
  rows.push_back({.quantity = "direct_per_token", .layer = 3, .part = "Query>Doc1", .value = 9, .null = 9});
  return rows;
}

TEST(ClaimNumber, GoldDrawIsMeasuredAgainstTheOthersAndUniformAttention) {
  const Measurements rows = flows({1, 1, 1, 1, 1, 1}, 3, 1.5);
  ClaimSide side{.number = SampleNumber::kGoldDraws,
                 .quantity = "direct_per_token",
                 .layers = LayerChoice::kDeepHalf,
                 .places = PlaceChoice::kMiddleThird};
  EXPECT_NEAR(number(side, rows, 4, "gold at 3")->value, std::log(1.5), 1e-12);
  side.number = SampleNumber::kOtherDraws;
  EXPECT_NEAR(number(side, rows, 4, "gold at 3")->value, 0, 1e-12) << "passage 4, without the gold one";
  side.number = SampleNumber::kGoldDraws;
  side.places = PlaceChoice::kLastThird;
  EXPECT_FALSE(number(side, rows, 4, "gold at 3")) << "the gold passage stands elsewhere";
}

// What the model's claim about the last third comes to when gold stands everywhere in turn.
ClaimResult flow_at_the_end(double gold) {
  SampleTable by_gold;
  for (Index i = 0; i < 60; ++i) {
    const Index place = i % 6 + 1;
    const double jitter = i / 6 % 2 == 0 ? 0.99 : 1 / 0.99;
    by_gold.add(key("mdm", i, fmt::format("gold at {}", place)),
                flows({1, 1, 1, 1, 1.8, 1.8}, place, gold * jitter));
  }
  for (const ClaimResult& r : judge({.models = {{"mdm", Writing::kFillsMasks}}, .by_gold = &by_gold})) {
    if (r.claim->id == "flow-gold-last") return r;
  }
  return {};
}

TEST(Judge, FlowIntoAFavouredPlaceIsNoPreferenceForGold) {
  const ClaimResult nothing = flow_at_the_end(1);
  EXPECT_NEAR(nothing.value, 0, 1e-9) << "the last passages draw 1.8 times as much, gold or not";
  EXPECT_EQ(nothing.verdict, Verdict::kNotSupported);
  EXPECT_EQ(nothing.n, 20);
  const ClaimResult something = flow_at_the_end(1.5);
  EXPECT_NEAR(something.value, std::log(1.5), 1e-9);
  EXPECT_EQ(something.verdict, Verdict::kSupported);
}

TEST(GoldPlaces, AreReadFromTheLabel) {
  EXPECT_EQ(gold_places("gold at 12"), std::vector<Index>{12});
  EXPECT_EQ(gold_places("gold at 2+5"), (std::vector<Index>{2, 5}));
  EXPECT_TRUE(gold_places("hotpot").empty());
  EXPECT_TRUE(gold_places("gold at x").empty());
}

}  // namespace
}  // namespace buoy
