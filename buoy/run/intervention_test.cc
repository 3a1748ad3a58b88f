// Interventions on two bundled models, seen through whole attention matrices that a second observer keeps.
#include <cmath>

#include "buoy/base/error.h"
#include "buoy/run/intervention_testing.h"

namespace buoy {
namespace {

using Interventions = IntervenedPair;

TEST_P(Interventions, ThatDoNothingLeaveEveryBitAsItWas) {
  const std::vector<TracedSample> before = trace(nullptr);
  for (const char* text : {"mask-random=0", "mask-anchors=0", "cut-heads=0", "cut-random=0"}) {
    InterventionSettings settings = settings_of(text);
    for (Index l = 0; l < model_.config().L; ++l) settings.ranking.push_back({l, 0});
    const std::vector<TracedSample> after = trace(&settings);
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(before[i].generation.tokens, after[i].generation.tokens) << text;
      EXPECT_EQ(before[i].generation.confidence, after[i].generation.confidence) << text;
      EXPECT_EQ(before[i].trace.steps.received, after[i].trace.steps.received) << text;
      EXPECT_EQ(before[i].trace.finished.received, after[i].trace.finished.received) << text;
      EXPECT_EQ(before[i].trace.finished.output_norm, after[i].trace.finished.output_norm) << text;
    }
  }
}

TEST_P(Interventions, MaskAnchorsHidesTheAnchorsOfAnUnmodifiedPassWhereItActsAndNowhereElse) {
  InterventionSettings settings = settings_of("mask-anchors=3");
  settings.site.layers = {1, 3};
  settings.site.heads = {0, 2};
  MatrixObserver watching;
  run(&settings, &watching);
  watching.finish_pass();
  ASSERT_GT(watching.steps.size(), 1u);
  for (std::size_t step = 0; step < watching.steps.size(); ++step) {
    const std::vector<TokenId>& tokens = watching.tokens[step];
    const Index N = std::ssize(tokens);
    const PassMatrices unmodified = plain(tokens);
    for (Index l = 0; l < model_.config().L; ++l) {
      const std::set<Index> anchors =
          largest_excess(received(unmodified.at({0, l}), N, settings.site.heads), 3);
      for (Index h = 0; h < H(); ++h) {
        const bool named = (l == 1 || l == 3) && (h == 0 || h == 2);
        EXPECT_EQ(empty_columns(watching.steps[step].at({0, l}), N, h), named ? anchors : std::set<Index>{})
            << "step " << step << " layer " << l << " head " << h;
      }
    }
  }
}

TEST_P(Interventions, MaskRandomHidesAsManyOthersWithAsMuchEvidence) {
  InterventionSettings settings = settings_of("mask-random=4");
  MatrixObserver watching;
  run(&settings, &watching);
  watching.finish_pass();
  const std::vector<std::int8_t>& evidence = examples_[0].prompt.layout.evidence;
  const auto count_evidence = [&](const std::set<Index>& keys) {
    return std::ranges::count_if(keys, [&](Index j) {
      return j < std::ssize(evidence) && evidence[static_cast<std::size_t>(j)] != 0;
    });
  };
  for (std::size_t step = 0; step < watching.steps.size(); ++step) {
    const std::vector<TokenId>& tokens = watching.tokens[step];
    const Index N = std::ssize(tokens);
    const PassMatrices unmodified = plain(tokens);
    for (Index l = 0; l < model_.config().L; ++l) {
      const std::set<Index> hidden = empty_columns(watching.steps[step].at({0, l}), N, 0);
      EXPECT_EQ(hidden.size(), 4u);
      const std::set<Index> anchors = largest_excess(received(unmodified.at({0, l}), N, all_heads()), 4);
      for (const Index key : hidden) EXPECT_FALSE(anchors.contains(key));
      EXPECT_EQ(count_evidence(hidden), count_evidence(anchors)) << "step " << step << " layer " << l;
    }
  }
}

TEST_P(Interventions, MaskBosHidesTheFirstKeyAndLeavesNoNaN) {
  const InterventionSettings settings = settings_of("mask-bos");
  MatrixObserver watching;
  for (const Generation& g : run(&settings, &watching)) {
    for (const double c : g.confidence) EXPECT_TRUE(std::isfinite(c));
  }
  watching.finish_pass();
  for (std::size_t step = 0; step < watching.steps.size(); ++step) {
    for (const auto& [key, matrix] : watching.steps[step]) {
      for (const float a : matrix) ASSERT_TRUE(std::isfinite(a));
      if (key.first != 0) continue;
      EXPECT_TRUE(empty_columns(matrix, std::ssize(watching.tokens[step]), 1).contains(0));
    }
  }
  for (const TracedSample& sample : trace(&settings)) {
    for (const float r : sample.trace.finished.received) ASSERT_TRUE(std::isfinite(r));
    for (const float e : sample.trace.finished.row_entropy) ASSERT_TRUE(std::isfinite(e));
    EXPECT_EQ(sample.trace.finished.received[0], 0.0f);
  }
}

// The excess of every key at every step and layer of sample 0, over all rows so far.
using Excess = std::vector<std::vector<std::vector<double>>>;  // [step][layer][N]

double deviation(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) squares += (v - mean) * (v - mean) / static_cast<double>(values.size());
  return std::sqrt(squares);
}

// Keys outside the reference's anchors that pass its threshold: at layers above 0 or at steps after 0.
Index count_passing(const Excess& excess, bool across_layers, bool causal, double epsilon) {
  Index passing = 0;
  for (std::size_t step = 0; step < excess.size(); ++step) {
    for (std::size_t layer = 0; layer < excess[step].size(); ++layer) {
      const std::vector<double>& reference = across_layers ? excess[causal ? 0 : step][0] : excess[0][layer];
      const double threshold = epsilon * deviation(reference);
      const std::vector<double>& e = excess[step][layer];
      for (std::size_t j = 0; j < e.size(); ++j) {
        const bool anchor = j < reference.size() && reference[j] > threshold;
        if (!anchor && e[j] > threshold + 1e-6) ++passing;
      }
    }
  }
  return passing;
}

class Pressed : public IntervenedPair {
 protected:
  // Rows that earlier passes computed stay as they are: a causal model's sums go on.
  Excess excess_of(const MatrixObserver& seen) const {
    const std::vector<Index> heads = all_heads();
    Excess excess(seen.steps.size());
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(model_.config().L));
    for (std::size_t step = 0; step < seen.steps.size(); ++step) {
      const Index N = std::ssize(seen.tokens[step]);
      const std::vector<double> null = uniform_received(model_.config().mask, Rows::kAll, N);
      for (std::size_t l = 0; l < sums.size(); ++l) {
        std::vector<double> r = received(seen.steps[step].at({0, static_cast<Index>(l)}), N, heads);
        if (!causal()) sums[l].clear();
        sums[l].resize(static_cast<std::size_t>(N), 0.0);
        for (std::size_t j = 0; j < r.size(); ++j) {
          sums[l][j] += r[j] * static_cast<double>(N);
          r[j] = sums[l][j] / static_cast<double>(N) - null[j];
        }
        excess[step].push_back(std::move(r));
      }
    }
    return excess;
  }

  void check_across(const std::string& across, double epsilon) const {
    InterventionSettings settings = settings_of("press-anchors=" + across);
    settings.epsilon = epsilon;  // low, so that there is something to hold down
    MatrixObserver pinned, free;
    run(&settings, &pinned);
    pinned.finish_pass();
    run(nullptr, &free);
    free.finish_pass();
    EXPECT_EQ(count_passing(excess_of(pinned), across == "layers", causal(), epsilon), 0);
    EXPECT_GT(count_passing(excess_of(free), across == "layers", causal(), epsilon), 0)
        << "shows nothing unless some key passes when free";
  }
};

TEST_P(Pressed, AcrossStepsNoOtherKeyPassesTheFrozenThreshold) {
  check_across("steps", 1);
}

TEST_P(Pressed, AcrossLayersNoOtherKeyPassesTheFrozenThreshold) {
  check_across("layers", 2);
  check_across("layers", 0.5);  // so low that gentle rounds do not do it
}

TEST_P(Interventions, CutHeadsGiveNothingAndTheOthersStay) {
  InterventionSettings settings = settings_of("cut-heads=2");
  settings.ranking = {{2, 1}, {0, 3}, {1, 1}, {3, 0}};
  const std::vector<TracedSample> cut = trace(&settings), plain_traces = trace(nullptr);
  // Layer 0 comes first: all its attention is as it was, though one head's output is not used.
  const Trace &a = cut[0].trace, &b = plain_traces[0].trace;
  const auto first_layer = static_cast<std::size_t>(H() * (a.prompt_length + 1));
  ASSERT_GE(a.steps.received.size(), first_layer);
  bool later_differs = false;
  for (Index j = 0; j < std::min(a.N(), b.N()); ++j) {
    EXPECT_EQ(a.steps.received[static_cast<std::size_t>(j)], b.steps.received[static_cast<std::size_t>(j)]);
    later_differs = later_differs || a.steps.received[static_cast<std::size_t>(a.N() + j)] !=
                                         b.steps.received[static_cast<std::size_t>(b.N() + j)];
  }
  EXPECT_TRUE(later_differs);
}

INSTANTIATE_TEST_SUITE_P(Pair, Interventions, testing::Values("mini-mdm", "mini-arm"),
                         [](const auto& model) { return std::string(model.param).substr(5); });

INSTANTIATE_TEST_SUITE_P(Pair, Pressed, testing::Values("mini-mdm", "mini-arm"),
                         [](const auto& model) { return std::string(model.param).substr(5); });

TEST(InterventionNames, AreParsedAndChecked) {
  const std::vector<InterventionSettings> three = parse_intervention("mask-anchors=1,5,10");
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(three[1].name(), "mask-anchors=5");
  EXPECT_EQ(control_of(three[1])->name(), "mask-random=5");
  EXPECT_EQ(control_of(parse_intervention("mask-bos").front())->name(), "mask-random=1");
  EXPECT_EQ(control_of(parse_intervention("cut-heads=4").front())->name(), "cut-random=4");
  EXPECT_EQ(control_of(parse_intervention("pin-anchors=steps").front())->name(), "pin-random=steps");
  EXPECT_FALSE(control_of(parse_intervention("press-anchors=steps").front()));
  for (const char* bad : {"mask", "mask-anchors", "mask-anchors=", "mask-anchors=x", "mask-anchors=-1",
                          "mask-bos=1", "pin-anchors", "pin-anchors=heads", "mask-anchors=1,,2"}) {
    EXPECT_THROW(parse_intervention(bad), UsageError) << bad;
  }
  ModelConfig config;
  config.L = 4;
  config.H = 2;
  InterventionSettings settings = three[0];
  settings.site.layers = {3};
  EXPECT_NO_THROW(check_intervention(settings, config, "m"));
  settings.site.layers = {4};
  EXPECT_THROW(check_intervention(settings, config, "m"), UsageError);
  settings.site.layers = {};
  settings.site.heads = {2};
  EXPECT_THROW(check_intervention(settings, config, "m"), UsageError);
  EXPECT_THROW(check_intervention(parse_intervention("cut-heads=9").front(), config, "m"), UsageError);
}

}  // namespace
}  // namespace buoy
