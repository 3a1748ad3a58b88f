// Pinning on attention written out row by row: who is pressed, who receives, what stays, and how much it was.
#include "buoy/intervene/pin_anchors.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "buoy/base/random.h"

namespace buoy {
namespace {

using Keys = std::set<Index>;
using Row = std::vector<double>;

constexpr Index kKeys = 40, kHeads = 2;

// Scores of every head and row, and the softmax of them under a bias, in double.
struct WrittenLayer {
  std::vector<Row> scores;  // [H·T] of [N]

  // Uneven from row to row, by `spread`; `strong` keys stand out by `by`.
  explicit WrittenLayer(std::uint64_t seed, const Keys& strong, double by = 3, double spread = 1) {
    Draws draws({.seed = seed});
    for (Index row = 0; row < kHeads * kKeys; ++row) {
      scores.emplace_back();
      for (Index j = 0; j < kKeys; ++j) {
        scores.back().push_back(spread * draws.unit() + (strong.contains(j) ? by * (0.5 + draws.unit()) : 0));
      }
    }
  }

  std::vector<Row> attention(std::span<const float> bias) const {
    std::vector<Row> out;
    for (std::size_t row = 0; row < scores.size(); ++row) {
      const std::size_t head = row / kKeys;
      Row a;
      double sum = 0;
      for (std::size_t j = 0; j < kKeys; ++j) {
        a.push_back(std::exp(scores[row][j] + double{bias[head * kKeys + j]}));
        sum += a.back();
      }
      for (double& x : a) x /= sum;
      out.push_back(std::move(a));
    }
    return out;
  }
};

Row received_of(const std::vector<Row>& attention) {
  Row received(kKeys, 0.0);
  for (const Row& row : attention) {
    for (std::size_t j = 0; j < kKeys; ++j) received[j] += row[j] / static_cast<double>(attention.size());
  }
  return received;
}

double sum_of(const Row& values, const Keys& keys) {
  double sum = 0;
  for (const Index j : keys) sum += values[static_cast<std::size_t>(j)];
  return sum;
}

Keys anchors_of(const Row& received) {
  const Row null(kKeys, 1.0 / kKeys);
  const std::vector<Index> found = find_anchors(received, null, {.epsilon = 1.5});
  return {found.begin(), found.end()};
}

// The level of the excess rule, from its definition.
double level_of(const Row& received) {
  double squares = 0;  // excesses add up to 0
  for (const double r : received) squares += (r - 1.0 / kKeys) * (r - 1.0 / kKeys);
  return std::max(1.0 / kKeys + 1.5 * std::sqrt(squares / kKeys), 2.0 / kKeys);
}

// What came of a layer.
struct Ran {
  Row free, changed;
  std::vector<Row> free_rows, rows;
  LayerChange change;
  Index rounds = 0;

  Keys biased() const {
    Keys keys;
    for (std::size_t j = 0; j < kKeys; ++j) {
      EXPECT_EQ(change.key_bias[j], change.key_bias[kKeys + j]) << "heads are changed alike";
      if (change.key_bias[j] != 0) keys.insert(static_cast<Index>(j));
    }
    return keys;
  }
};

struct Pinning : testing::Test {
  InterventionSettings settings;
  SampleMemory memory;
  std::vector<Index> heads = {0, 1};
  Row null = Row(kKeys, 1.0 / kKeys);
  std::vector<TokenClass> classes = std::vector<TokenClass>(kKeys, TokenClass::kContent);
  std::vector<KeyPlace> places = std::vector<KeyPlace>(kKeys);
  std::vector<std::int8_t> evidence = std::vector<std::int8_t>(kKeys, 0);

  Pinning() { choose("pin-anchors=steps"); }
  void choose(const char* text) {
    settings = parse_intervention(text).front();
    settings.epsilon = 1.5;
    memory = {};
    memory.frozen.resize(4);
  }

  // Runs a layer as the tap does, until nobody asks again.
  Ran run(const WrittenLayer& layer, Index number, Index step) {
    Ran ran;
    ran.change = {.N = kKeys,
                  .key_bias = std::vector<float>(kHeads * kKeys, 0.0f),
                  .head_gain = std::vector<float>(kHeads, 1.0f),
                  .dose = {}};
    for (bool again = true; again; ++ran.rounds) {
      ran.rows = layer.attention(ran.change.key_bias);
      ran.changed = received_of(ran.rows);
      if (ran.rounds == 0) {
        ran.free = ran.changed;
        ran.free_rows = ran.rows;
      }
      std::vector<float> by_head(kHeads * kKeys, 0.0f);
      for (std::size_t row = 0; row < ran.rows.size(); ++row) {
        for (std::size_t j = 0; j < kKeys; ++j) {
          by_head[row / kKeys * kKeys + j] += static_cast<float>(ran.rows[row][j] / kKeys);
        }
      }
      const LayerView view{.settings = settings,
                           .layer = number,
                           .step = step,
                           .acts = true,
                           .H = kHeads,
                           .N = kKeys,
                           .heads = heads,
                           .received = by_head,
                           .null = null,
                           .classes = classes,
                           .places = places,
                           .evidence = evidence};
      again = settings.kind->correct(view, ran.rounds, memory, ran.change);
    }
    return ran;
  }
};

// Anchors 3 and 8 at step 0; then 3, 20 and 31.
const WrittenLayer kFirst(1, {3, 8}), kLater(2, {3, 20, 31});

TEST_F(Pinning, TakesOthersToTheLayersOwnLevelAndKeepsTheAttentionOnAnchors) {
  EXPECT_TRUE(run(kFirst, 0, 0).biased().empty()) << "the reference stays as it is";
  const Ran ran = run(kLater, 0, 1);
  ASSERT_EQ(anchors_of(ran.free), (Keys{3, 20, 31}));
  EXPECT_EQ(ran.biased(), (Keys{3, 8, 20, 31})) << "own anchors and the set, nobody else";
  const double level = level_of(ran.free);
  for (Index j = 0; j < kKeys; ++j) {
    if (j == 3 || j == 8) continue;
    EXPECT_LE(ran.changed[static_cast<std::size_t>(j)], level) << j;
  }
  for (const std::size_t j : {20, 31}) EXPECT_GT(ran.changed[j], 0.97 * level) << "no further than needed";
  const Keys touched = {3, 8, 20, 31};
  EXPECT_NEAR(sum_of(ran.changed, touched), sum_of(ran.free, touched), 0.01 * sum_of(ran.free, touched));
  EXPECT_GT(sum_of(ran.changed, {3, 8}), 1.3 * sum_of(ran.free, {3, 8})) << "the set is given what they lose";
  EXPECT_EQ(ran.change.dose[Dose::kUnsettled], 0);
}

TEST_F(Pinning, LeavesTheSharesOfAllOtherKeysAsTheyWereInEveryRow) {
  run(kFirst, 0, 0);
  const Ran ran = run(kLater, 0, 1);
  for (std::size_t row = 0; row < ran.rows.size(); ++row) {
    for (std::size_t j = 10; j < 20; ++j) {
      EXPECT_NEAR(ran.rows[row][j] / ran.rows[row][9], ran.free_rows[row][j] / ran.free_rows[row][9], 1e-9);
    }
    EXPECT_NEAR(ran.rows[row][8] / ran.rows[row][3], ran.free_rows[row][8] / ran.free_rows[row][3], 1e-9)
        << "one bias for the whole set";
  }
}

TEST_F(Pinning, ChangesNothingWhereTheLayersAnchorsAreInTheSet) {
  run(kFirst, 0, 0);
  for (const Keys& strong : {Keys{3, 8}, Keys{8}, Keys{}}) {
    const Ran ran = run(WrittenLayer(7, strong), 0, 1);
    EXPECT_EQ(ran.rounds, 1) << "not run again";
    EXPECT_TRUE(ran.biased().empty());
    EXPECT_EQ(ran.change.dose.reached, 1);
    EXPECT_EQ(ran.change.dose[Dose::kMass], 0);
  }
}

TEST_F(Pinning, GoesByTheLevelOfTheLayerNotOfTheReference) {
  run(WrittenLayer(1, {3, 8}, 1.6), 0, 0);                 // weak anchors: a low threshold
  const Ran ran = run(WrittenLayer(2, {3, 20}, 5), 0, 1);  // strong ones
  const double low =
      level_of(received_of(WrittenLayer(1, {3, 8}, 1.6).attention(std::vector<float>(kHeads * kKeys, 0.0f))));
  EXPECT_LT(low, 0.6 * level_of(ran.free));
  EXPECT_NEAR(ran.changed[20], 0.99 * level_of(ran.free), 0.011 * level_of(ran.free));
}

TEST_F(Pinning, SettlesWhereRowsAreNothingAlike) {
  run(kFirst, 0, 0);
  for (std::uint64_t seed = 10; seed < 30; ++seed) {
    const WrittenLayer uneven(seed, {5, 20, 31}, 6, 8);
    const Ran ran = run(uneven, 0, 1);
    EXPECT_GE(ran.change.dose[Dose::kPressed], 1) << "or there is nothing to settle";
    EXPECT_EQ(ran.change.dose[Dose::kUnsettled], 0) << seed << ": " << ran.rounds << " rounds";
    const double level = level_of(ran.free);
    for (Index j = 0; j < kKeys; ++j) {
      if (j == 3 || j == 8) continue;
      EXPECT_LE(ran.changed[static_cast<std::size_t>(j)], level) << seed << " key " << j;
    }
    const Keys touched = ran.biased();
    EXPECT_NEAR(sum_of(ran.changed, touched), sum_of(ran.free, touched), 0.01 * sum_of(ran.free, touched));
  }
}

TEST_F(Pinning, CountsKeysBiasesAndTheAttentionThatMoved) {
  run(kFirst, 0, 0);
  const Ran ran = run(kLater, 0, 1);
  const LayerDose& dose = ran.change.dose;
  EXPECT_EQ(dose.reached, 1);
  EXPECT_EQ(dose[Dose::kPressed], 2);
  EXPECT_EQ(dose[Dose::kRaised], 2);
  EXPECT_EQ(dose.biased, 4);
  double biases = 0;
  for (std::size_t j = 0; j < kKeys; ++j) biases += std::abs(double{ran.change.key_bias[j]});
  EXPECT_NEAR(dose[Dose::kBias], biases, 1e-9);
  EXPECT_NEAR(dose[Dose::kMass], sum_of(ran.free, {20, 31}) - sum_of(ran.changed, {20, 31}), 1e-6);
  EXPECT_GT(dose[Dose::kMass], 0.05);
}

TEST_F(Pinning, AcrossStepsTheFirstStepWithAnchorsIsTheReference) {
  run(WrittenLayer(1, {}), 2, 0);  // has none
  EXPECT_TRUE(run(kFirst, 2, 1).biased().empty()) << "becomes the reference";
  EXPECT_EQ(run(kLater, 2, 2).biased(), (Keys{3, 8, 20, 31}));
  EXPECT_TRUE(run(kLater, 1, 2).biased().empty()) << "another layer has a reference of its own";
}

TEST_F(Pinning, AcrossLayersTheFirstLayerOfTheSamePassIsTheReference) {
  choose("pin-anchors=layers");
  run(kFirst, 0, 0);
  EXPECT_EQ(run(kLater, 1, 0).biased(), (Keys{3, 8, 20, 31}));
  run(WrittenLayer(3, {20, 31}), 0, 1);
  EXPECT_EQ(run(kLater, 1, 1).biased(), (Keys{3, 20, 31})) << "the next pass has its own";
  run(WrittenLayer(3, {}), 0, 2);
  EXPECT_TRUE(run(kFirst, 1, 2).biased().empty()) << "layer 0 has none: layer 1 is the reference";
  EXPECT_EQ(run(kLater, 2, 2).biased(), (Keys{3, 8, 20, 31}));
}

TEST_F(Pinning, LeavesTheLayerAsItIsWhereItsAimCannotBeReachedAndSaysSo) {
  run(kFirst, 0, 0);
  WrittenLayer blind = kLater;  // nobody looks at the set, whatever its bias
  for (Row& row : blind.scores) row[3] = row[8] = -1000;
  const Ran ran = run(blind, 0, 1);
  EXPECT_EQ(ran.change.dose[Dose::kUnsettled], 1);
  EXPECT_EQ(ran.change.dose[Dose::kPressed], 0);
  EXPECT_TRUE(ran.biased().empty());
  EXPECT_EQ(ran.changed, ran.free) << "run once more without a bias";
}

TEST_F(Pinning, TheControlPressesTheSameKeysAndGivesToOthersOfTheSameKind) {
  for (std::size_t j = 0; j < kKeys; ++j) {
    classes[j] = j % 4 == 3 ? TokenClass::kPunctuation : TokenClass::kContent;
    places[j] = {.kind = j < 20 ? RegionKind::kDocument : RegionKind::kQuery, .third = j < 10 ? 0 : 1};
  }
  run(kFirst, 0, 0);
  const Ran pinned = run(kLater, 0, 1);
  std::set<Keys> drawn;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    choose("pin-random=steps");
    settings.seed = seed;
    run(kFirst, 0, 0);
    const std::vector<Index> receivers = memory.frozen[0]->receivers;
    ASSERT_EQ(receivers.size(), 2u) << "as many as 3 and 8";
    drawn.insert(Keys(receivers.begin(), receivers.end()));
    Index marks = 0;
    for (const Index j : receivers) {
      EXPECT_TRUE(j != 3 && j != 8) << "no anchor";
      EXPECT_LT(j, 10) << "a passage of the same third";
      marks += classes[static_cast<std::size_t>(j)] == TokenClass::kPunctuation ? 1 : 0;
    }
    EXPECT_EQ(marks, 1) << "3 is punctuation, 8 is not";
    const Ran random = run(kLater, 0, 1);
    Keys touched(receivers.begin(), receivers.end());
    touched.insert({20, 31});
    EXPECT_EQ(random.biased(), touched);
    EXPECT_EQ(random.change.dose[Dose::kUnsettled], 0);
    EXPECT_NEAR(random.change.dose[Dose::kMass], pinned.change.dose[Dose::kMass],
                0.03 * pinned.change.dose[Dose::kMass])
        << "the same dose";
    EXPECT_NEAR(sum_of(random.changed, touched), sum_of(random.free, touched),
                0.01 * sum_of(random.free, touched));
  }
  EXPECT_GT(drawn.size(), 3u);
}

TEST(Doses, AreNumbersOfTheLayersThatWereReached) {
  std::vector<LayerDose> layers(2);
  layers[1].reached = 4;
  layers[1].biased = 6;
  layers[1][Dose::kPressed] = 2;
  layers[1][Dose::kBias] = 9;
  const Dose named[] = {Dose::kPressed, Dose::kBias, Dose::kOtherClass};
  const Measurements made = dose_measurements(layers, named);
  ASSERT_EQ(made.size(), 2u) << "layer 0 was not reached, and nothing was to be matched";
  EXPECT_EQ(made[0].quantity, "dose_keys");
  EXPECT_EQ(made[0].part, "pressed");
  EXPECT_EQ(made[0].layer, 1);
  EXPECT_EQ(made[0].value / made[0].weight, 0.5);
  EXPECT_EQ(made[1].quantity, "dose_bias");
  EXPECT_EQ(made[1].value / made[1].weight, 1.5);
}

}  // namespace
}  // namespace buoy
