// Every intervention on one hand-made layer: what it hides, holds down or cuts, worked out beside it.
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "buoy/intervene/intervention.h"

namespace buoy {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// A layer of two heads and ten keys; uniform attention would give every key 0.1.
struct Layer {
  InterventionSettings settings;
  Index layer = 0, step = 0;
  std::uint32_t stream = 0;
  std::vector<Index> heads = {0, 1};
  std::vector<float> received = std::vector<float>(20, 0.1f);  // [2, 10]
  std::vector<double> null = std::vector<double>(10, 0.1);
  std::vector<TokenClass> classes = std::vector<TokenClass>(10, TokenClass::kContent);
  std::vector<KeyPlace> places = std::vector<KeyPlace>(10);
  std::vector<std::int8_t> evidence = std::vector<std::int8_t>(10, 0);

  explicit Layer(const char* text) : settings(parse_intervention(text).front()) {}

  void receives(Index head, Index key, double share) {
    received[static_cast<std::size_t>(head * 10 + key)] = static_cast<float>(share);
  }
  LayerView view() const {
    return {.settings = settings,
            .layer = layer,
            .step = step,
            .stream = stream,
            .acts = true,
            .H = 2,
            .N = 10,
            .heads = heads,
            .received = received,
            .null = null,
            .classes = classes,
            .places = places,
            .evidence = evidence};
  }
  static LayerChange nothing() {
    return {.N = 10,
            .key_bias = std::vector<float>(20, 0.0f),
            .head_gain = std::vector<float>(2, 1.0f),
            .dose = {}};
  }
  LayerChange changed() const {
    LayerChange change = nothing();
    settings.kind->change(view(), change);
    return change;
  }
};

std::set<Index> hidden_of(const LayerChange& change, Index head) {
  std::set<Index> keys;
  for (Index j = 0; j < change.N; ++j) {
    if (change.key_bias[static_cast<std::size_t>(head * change.N + j)] == kHidden) keys.insert(j);
  }
  return keys;
}

using Keys = std::set<Index>;

TEST(MaskAnchors, AreOfTheMeanOverHeadsOrOfEachHeadByItself) {
  Layer layer("mask-anchors=1");
  layer.receives(0, 2, 0.8);  // head 0's anchor; the mean's too, 0.45
  layer.receives(1, 7, 0.6);  // head 1's; 0.35 in the mean
  EXPECT_EQ(hidden_of(layer.changed(), 0), Keys{2});
  EXPECT_EQ(hidden_of(layer.changed(), 1), Keys{2});
  layer.settings.per_head = true;
  EXPECT_EQ(hidden_of(layer.changed(), 0), Keys{2});
  EXPECT_EQ(hidden_of(layer.changed(), 1), Keys{7});
}

TEST(MaskAnchors, GoByTheExcessOverUniformAttention) {
  Layer layer("mask-anchors=2");
  layer.null[0] = 0.9;  // as under a causal mask: the first key receives much in any case
  for (const Index head : {0, 1}) {
    layer.receives(head, 0, 0.85);
    layer.receives(head, 4, 0.3);
    layer.receives(head, 9, 0.2);
  }
  EXPECT_EQ(hidden_of(layer.changed(), 0), (Keys{4, 9}));
}

TEST(MaskAnchors, OfEqualKeysTheFirstAreHiddenAndNoneWithoutAStepBefore) {
  Layer layer("mask-anchors=3");
  EXPECT_EQ(hidden_of(layer.changed(), 1), (Keys{0, 1, 2}));
  layer.received.clear();
  EXPECT_EQ(hidden_of(layer.changed(), 1), Keys{});
}

TEST(MaskRandom, HidesKeysOfTheAnchorsClassesWhileThereAreAny) {
  Layer layer("mask-random=2");
  layer.classes = {TokenClass::kBos,         TokenClass::kPunctuation, TokenClass::kContent,
                   TokenClass::kPunctuation, TokenClass::kContent,     TokenClass::kContent,
                   TokenClass::kContent,     TokenClass::kPunctuation, TokenClass::kContent,
                   TokenClass::kContent};
  layer.evidence[7] = 1;
  for (const Index head : {0, 1}) {
    layer.receives(head, 1, 0.7);  // punctuation; 3 is the only other that is no evidence
    layer.receives(head, 4, 0.5);  // content; 2, 5, 6, 8 and 9 are
  }
  Keys drawn;
  for (layer.stream = 0; layer.stream < 60; ++layer.stream) {
    const Keys hidden = hidden_of(layer.changed(), 0);
    ASSERT_EQ(hidden.size(), 2u);
    ASSERT_TRUE(hidden.contains(3)) << "the punctuation mark that is left";
    drawn.insert(hidden.begin(), hidden.end());
    EXPECT_EQ(hidden_of(layer.changed(), 1), hidden);
  }
  EXPECT_EQ(drawn, (Keys{2, 3, 5, 6, 8, 9})) << "every stand-in comes up";
}

// Ten keys: two passages of three keys in the first third, one of four in the last; 4 and 5 are evidence.
Layer layer_with_places() {
  Layer layer("mask-random=1");
  for (std::size_t j = 0; j < 10; ++j)
    layer.places[j] = {.kind = RegionKind::kDocument, .third = j < 6 ? 0 : 2};
  layer.evidence[4] = layer.evidence[5] = 1;
  return layer;
}

// What stands in for a key over many draws, and what gave way.
struct Drawn {
  Keys keys;
  LayerDose dose;
};
Drawn drawn_for(Layer layer, Index key) {
  for (const Index head : {0, 1}) layer.receives(head, key, 0.9);
  Drawn drawn;
  for (layer.stream = 0; layer.stream < 80; ++layer.stream) {
    const LayerChange change = layer.changed();
    const Keys hidden = hidden_of(change, 0);
    drawn.keys.insert(hidden.begin(), hidden.end());
    drawn.dose += change.dose;
  }
  return drawn;
}

TEST(MaskRandom, MatchesClassPlaceAndEvidence) {
  Layer layer = layer_with_places();
  layer.classes[2] = layer.classes[8] = TokenClass::kPunctuation;
  const Drawn content = drawn_for(layer, 0);
  EXPECT_EQ(content.keys, (Keys{1, 3})) << "2 is punctuation, 4 and 5 evidence, the rest elsewhere";
  EXPECT_EQ(content.dose.matched, 80);
  for (const Dose dose : {Dose::kOtherThird, Dose::kOtherRegion, Dose::kOtherClass, Dose::kOtherEvidence,
                          Dose::kMissing, Dose::kEvidence}) {
    EXPECT_EQ(content.dose[dose], 0);
  }
  const Drawn fact = drawn_for(layer, 4);
  EXPECT_EQ(fact.keys, Keys{5}) << "evidence for evidence";
  EXPECT_EQ(fact.dose[Dose::kEvidence], 80);
}

TEST(MaskRandom, GivesWayInThirdThenRegionThenClassAndLastInEvidence) {
  Layer layer = layer_with_places();
  layer.classes[2] = layer.classes[8] = TokenClass::kPunctuation;
  Drawn drawn = drawn_for(layer, 2);
  EXPECT_EQ(drawn.keys, Keys{8}) << "punctuation of another third";
  EXPECT_EQ(drawn.dose[Dose::kOtherThird], 80);
  layer.places[8].kind = RegionKind::kQuery;
  drawn = drawn_for(layer, 2);
  EXPECT_EQ(drawn.keys, Keys{8}) << "of another region";
  EXPECT_EQ(drawn.dose[Dose::kOtherRegion], 80);
  layer.classes[8] = TokenClass::kContent;
  drawn = drawn_for(layer, 2);
  EXPECT_EQ(drawn.keys, (Keys{0, 1, 3, 6, 7, 8, 9})) << "any class, but no evidence";
  EXPECT_EQ(drawn.dose[Dose::kOtherClass], 80);
  layer.evidence[5] = 0;
  drawn = drawn_for(layer, 4);
  EXPECT_EQ(drawn.keys, (Keys{0, 1, 2, 3, 5, 6, 7, 8, 9})) << "there is no other evidence";
  EXPECT_EQ(drawn.dose[Dose::kOtherEvidence], 80);
  EXPECT_EQ(drawn.dose[Dose::kMissing], 0);
}

TEST(MaskRandom, DrawsExactMatchesBeforeAnyKeyGivesWay) {
  Layer layer("mask-random=2");
  layer.classes.assign(10, TokenClass::kContent);
  layer.classes[0] = TokenClass::kBos;  // has no like; the strongest
  layer.classes[1] = layer.classes[2] = TokenClass::kPunctuation;
  for (const Index head : {0, 1}) {
    layer.receives(head, 0, 0.9);
    layer.receives(head, 1, 0.5);
  }
  for (layer.stream = 0; layer.stream < 40; ++layer.stream) {
    const LayerChange change = layer.changed();
    EXPECT_TRUE(hidden_of(change, 0).contains(2)) << "not taken by what stands in for the first key";
    EXPECT_EQ(change.dose[Dose::kOtherClass], 1);
  }
}

TEST(MaskRandom, CountsKeysThatNothingCanStandInFor) {
  Layer layer("mask-random=8");
  LayerChange change = layer.changed();
  EXPECT_EQ(hidden_of(change, 0).size(), 2u) << "eight of ten are anchors";
  EXPECT_EQ(change.dose[Dose::kMissing], 6);
}

TEST(SpareEvidence, NeitherAnchorsNorStandInsAreEvidence) {
  Layer layer = layer_with_places();
  layer.settings.spare_evidence = true;
  EXPECT_EQ(drawn_for(layer, 0).keys, (Keys{1, 2, 3}));
  layer.settings = parse_intervention("mask-anchors=2").front();
  for (const Index head : {0, 1}) {
    layer.receives(head, 4, 0.9);
    layer.receives(head, 7, 0.8);
    layer.receives(head, 1, 0.7);
  }
  EXPECT_EQ(hidden_of(layer.changed(), 0), (Keys{4, 7}));
  EXPECT_EQ(layer.changed().dose[Dose::kEvidence], 1);
  EXPECT_NEAR(layer.changed().dose[Dose::kMass], 0.9 + 0.8, 1e-6);
  layer.settings.spare_evidence = true;
  EXPECT_EQ(hidden_of(layer.changed(), 0), (Keys{1, 7}));
  EXPECT_EQ(layer.changed().dose[Dose::kEvidence], 0);
}

TEST(KeyPlaces, AreThirdsOfThePassagesAndAnswerWhereTextIsGenerated) {
  RegionMap prompt;
  prompt.regions = {{.kind = RegionKind::kQuery}};
  for (Index d = 1; d <= 4; ++d) prompt.regions.push_back({.kind = RegionKind::kDocument, .document = d});
  prompt.of = {0, 1, 2, 3, 4};
  const std::vector<KeyPlace> places = key_places(prompt, 6);
  EXPECT_EQ(places, (std::vector<KeyPlace>{{RegionKind::kQuery, 0},
                                           {RegionKind::kDocument, 0},
                                           {RegionKind::kDocument, 0},
                                           {RegionKind::kDocument, 1},
                                           {RegionKind::kDocument, 2},
                                           {RegionKind::kAnswer, 0}}));
}

TEST(MaskRandom, WhereAClassHasNoOtherKeyAnyKeyStandsIn) {
  Layer layer("mask-random=1");
  layer.classes[0] = TokenClass::kBos;
  for (const Index head : {0, 1}) layer.receives(head, 0, 0.9);
  const Keys hidden = hidden_of(layer.changed(), 0);
  ASSERT_EQ(hidden.size(), 1u);
  EXPECT_NE(*hidden.begin(), 0);
}

TEST(MaskRandom, DrawsAnewForEverySampleStepAndLayer) {
  Layer layer("mask-random=3");
  for (const Index head : {0, 1}) layer.receives(head, 0, 0.9);
  std::set<Keys> by_sample, by_step, by_layer;
  for (Index i = 0; i < 20; ++i) {
    layer.stream = static_cast<std::uint32_t>(i);
    by_sample.insert(hidden_of(layer.changed(), 0));
    layer.stream = 0;
    layer.step = i;
    by_step.insert(hidden_of(layer.changed(), 0));
    layer.step = 0;
    layer.layer = i;
    by_layer.insert(hidden_of(layer.changed(), 0));
    layer.layer = 0;
  }
  EXPECT_GT(by_sample.size(), 5u);
  EXPECT_GT(by_step.size(), 5u);
  EXPECT_GT(by_layer.size(), 5u);
}

TEST(MaskBos, HidesTheFirstKeyInTheHeadsThatMayChange) {
  Layer layer("mask-bos");
  layer.heads = {1};
  EXPECT_EQ(hidden_of(layer.changed(), 0), Keys{});
  EXPECT_EQ(hidden_of(layer.changed(), 1), Keys{0});
}

// Heads with gain 0 over layers 0 to 3.
std::set<HeadId> heads_cut(Layer& layer) {
  std::set<HeadId> cut;
  for (layer.layer = 0; layer.layer < 4; ++layer.layer) {
    const LayerChange change = layer.changed();
    EXPECT_EQ(change.key_bias, Layer::nothing().key_bias);
    for (Index h = 0; h < 2; ++h) {
      const float gain = change.head_gain[static_cast<std::size_t>(h)];
      if (gain == 0) cut.insert({layer.layer, h});
      EXPECT_TRUE(gain == 0 || gain == 1);
    }
  }
  return cut;
}

const std::vector<HeadId> kRanking = {{2, 1}, {0, 0}, {3, 1}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {3, 0}};

TEST(CutHeads, TheBestOfTheRankingGiveNothingAndTheOthersAllTheyHave) {
  Layer layer("cut-heads=3");
  layer.settings.ranking = kRanking;
  EXPECT_EQ(heads_cut(layer), (std::set<HeadId>{{0, 0}, {2, 1}, {3, 1}}));
}

TEST(CutRandom, CutsAsManyButNeverOneOfTheBest) {
  Layer layer("cut-random=3");
  layer.settings.ranking = kRanking;
  std::set<HeadId> drawn;
  std::set<std::set<HeadId>> draws;
  for (layer.stream = 0; layer.stream < 60; ++layer.stream) {
    const std::set<HeadId> cut = heads_cut(layer);
    EXPECT_EQ(cut.size(), 3u);
    drawn.insert(cut.begin(), cut.end());
    draws.insert(cut);
  }
  EXPECT_EQ(drawn, (std::set<HeadId>{{0, 1}, {1, 0}, {1, 1}, {2, 0}, {3, 0}})) << "all five others";
  EXPECT_GT(draws.size(), 5u) << "drawn anew for every sample";
}

TEST(CutRandom, KeepsASamplesHeadsOverItsSteps) {
  Layer layer("cut-random=3");
  layer.settings.ranking = kRanking;
  const std::set<HeadId> first = heads_cut(layer);
  layer.step = 5;
  EXPECT_EQ(heads_cut(layer), first);
}

// press-anchors=steps after step 0, where key 3 was the anchor: excess 0.9 − 0.1 = 0.8 and eight 0s, one −…
struct Pressed : testing::Test {
  Layer layer{"press-anchors=steps"};
  SampleMemory memory;
  double threshold = 0;

  void SetUp() override {
    memory.frozen.resize(1);
    layer.settings.epsilon = 1;
    for (const Index head : {0, 1}) layer.receives(head, 3, 0.9);
    LayerChange change = Layer::nothing();
    EXPECT_FALSE(layer.settings.kind->correct(layer.view(), 0, memory, change)) << "step 0 stays as it is";
    const double mean = 0.8 / 10;
    threshold = std::sqrt(((0.8 - mean) * (0.8 - mean) + 9 * mean * mean) / 10);  // ε = 1 deviation: 0.24
    layer.step = 1;
  }
  double bias_of(const LayerChange& change, Index key) const {
    EXPECT_EQ(change.key_bias[static_cast<std::size_t>(key)],
              change.key_bias[static_cast<std::size_t>(10 + key)]);
    return double{change.key_bias[static_cast<std::size_t>(key)]};
  }
};

TEST_F(Pressed, AKeyThatPassesIsBroughtJustBelowTheThresholdAndOthersAreLeft) {
  for (const Index head : {0, 1}) {
    layer.receives(head, 5, 0.1 + threshold + 0.05);  // passes
    layer.receives(head, 6, 0.1 + threshold - 0.01);  // does not
  }
  LayerChange change = Layer::nothing();
  EXPECT_TRUE(layer.settings.kind->correct(layer.view(), 0, memory, change)) << "run the layer again";
  EXPECT_EQ(memory.corrections, 1);
  const double allowed = 0.1 + threshold;
  const double aim = (allowed + 0.05) * std::exp(bias_of(change, 5));  // were the softmax's sum to stay
  EXPECT_LT(aim, allowed) << "or the layer would be run again for ever";
  EXPECT_GT(aim, 0.95 * allowed) << "no further down than needed";
  EXPECT_EQ(bias_of(change, 6), 0);
  EXPECT_EQ(bias_of(change, 3), 0) << "the frozen anchor";
}

TEST_F(Pressed, WhenNoKeyPassesNothingIsRunAgain) {
  for (const Index head : {0, 1}) layer.receives(head, 6, 0.1 + threshold - 0.01);
  LayerChange change = Layer::nothing();
  EXPECT_FALSE(layer.settings.kind->correct(layer.view(), 0, memory, change));
  EXPECT_EQ(change.key_bias, Layer::nothing().key_bias);
  EXPECT_EQ(memory.corrections, 0);
}

TEST_F(Pressed, AKeyThatGentleRoundsDoNotBringDownIsHidden) {
  for (const Index head : {0, 1}) layer.receives(head, 5, 0.1 + threshold + 0.05);
  LayerChange change = Layer::nothing();
  for (Index round = 0; round <= 8; ++round) {
    EXPECT_EQ(hidden_of(change, 0), Keys{}) << "after " << round << " rounds";
    EXPECT_TRUE(layer.settings.kind->correct(layer.view(), round, memory, change));
  }
  EXPECT_EQ(hidden_of(change, 0), Keys{5});
  EXPECT_FALSE(layer.settings.kind->correct(layer.view(), 9, memory, change)) << "above by rounding alone";
  EXPECT_EQ(change.dose[Dose::kHidden], 1);
}

}  // namespace
}  // namespace buoy
