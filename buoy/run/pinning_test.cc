// Pinned anchors on two bundled models, layer by layer against the attention of a plain pass over the same
// tokens.
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/ranges.h>

#include "buoy/run/intervention_testing.h"

namespace buoy {
namespace {

constexpr double kEpsilon = 1.5;  // low, so that there are anchors to move

// One layer's attention over the rows that count, [H·T] of [N], and what keys receive from them.
struct CountedRows {
  std::vector<std::vector<double>> rows;
  std::vector<double> received, null;

  std::vector<Index> anchors() const { return find_anchors(received, null, {.epsilon = kEpsilon}); }
  double level(std::size_t j) const {
    double mean = 0, squares = 0;
    const double N = static_cast<double>(received.size());
    for (std::size_t k = 0; k < received.size(); ++k) mean += (received[k] - null[k]) / N;
    for (std::size_t k = 0; k < received.size(); ++k) {
      squares += (received[k] - null[k] - mean) * (received[k] - null[k] - mean) / N;
    }
    return std::max(null[j] + kEpsilon * std::sqrt(squares), 2 * null[j]);
  }
  double sum(const std::set<Index>& keys) const {
    return std::accumulate(keys.begin(), keys.end(), 0.0,
                           [&](double s, Index j) { return s + received[static_cast<std::size_t>(j)]; });
  }
};

class Pinned : public IntervenedPair {
 protected:
  // The last `count` rows of a matrix [H, T, N].
  CountedRows counted(std::span<const float> matrix, Index N, Index count) const {
    const Index T = std::ssize(matrix) / (H() * N);
    CountedRows out;
    out.received.assign(static_cast<std::size_t>(N), 0.0);
    out.null = out.received;
    for (Index h = 0; h < H(); ++h) {
      for (Index t = T - count; t < T; ++t) {
        const auto row =
            matrix.subspan(static_cast<std::size_t>((h * T + t) * N), static_cast<std::size_t>(N));
        out.rows.emplace_back(row.begin(), row.end());
        const Index visible = model_.config().mask.visible_keys(N - T + t, N);
        for (std::size_t j = 0; j < row.size(); ++j) {
          out.received[j] += double{row[j]} / static_cast<double>(H() * count);
          if (static_cast<Index>(j) < visible)
            out.null[j] += 1.0 / static_cast<double>(H() * count * visible);
        }
      }
    }
    return out;
  }

  static constexpr Index kUndone = -1;  // the aim was out of reach

  static double largest_difference(const CountedRows& a, const CountedRows& b) {
    double largest = 0;
    for (std::size_t row = 0; row < a.rows.size(); ++row) {
      for (std::size_t j = 0; j < a.rows[row].size(); ++j) {
        largest = std::max(largest, std::abs(a.rows[row][j] - b.rows[row][j]));
      }
    }
    return largest;
  }

  // How many keys were pressed, or kUndone. Every fact that pinning `free` to `set` should leave.
  static Index check_layer(const CountedRows& free, const CountedRows& pinned,
                           const std::vector<Index>& set) {
    std::set<Index> outside;
    for (const Index j : free.anchors()) {
      if (!std::ranges::binary_search(set, j)) outside.insert(j);
    }
    if (outside.empty()) {
      EXPECT_EQ(free.rows, pinned.rows) << "nothing to move: the same bits";
      return 0;
    }
    if (largest_difference(free, pinned) < 1e-5) return kUndone;
    std::set<Index> meant(set.begin(), set.end());
    meant.insert(outside.begin(), outside.end());
    const std::set<Index> touched = changed_odds(free, pinned);
    EXPECT_TRUE(std::ranges::includes(touched, meant));
    for (std::size_t j = 0; j < free.received.size(); ++j) {
      const auto key = static_cast<Index>(j);
      if (std::ranges::binary_search(set, key)) continue;
      EXPECT_LE(pinned.received[j], free.level(j) * (1 + 1e-6)) << "key " << key;
      if (touched.contains(key) && !meant.contains(key)) {
        EXPECT_NEAR(pinned.received[j], free.received[j], 0.011 * free.level(j))
            << "kept from rising: " << key;
      }
    }
    EXPECT_NEAR(pinned.sum(touched), free.sum(touched), 0.01 * free.sum(touched)) << "attention on anchors";
    EXPECT_GT(pinned.sum({set.begin(), set.end()}), free.sum({set.begin(), set.end()}));
    return std::ssize(outside);
  }

  // Keys whose attention changed by another factor than most keys' of the row: the same keys in every row.
  static std::set<Index> changed_odds(const CountedRows& free, const CountedRows& pinned) {
    std::set<Index> touched;
    for (std::size_t row = 0; row < free.rows.size(); ++row) {
      std::vector<double> factors;
      for (std::size_t j = 0; j < free.received.size(); ++j) {
        const bool seen = free.rows[row][j] > 1e-6;  // or floats say nothing
        factors.push_back(seen ? pinned.rows[row][j] / free.rows[row][j] : std::nan(""));
      }
      std::vector<double> sorted;
      std::ranges::copy_if(factors, std::back_inserter(sorted), [](double f) { return std::isfinite(f); });
      if (sorted.size() < 20) continue;
      std::ranges::sort(sorted);
      const double most = sorted[sorted.size() / 2];
      for (std::size_t j = 0; j < factors.size(); ++j) {
        if (std::abs(factors[j] - most) > 1e-3 * most) touched.insert(static_cast<Index>(j));
      }
    }
    return touched;
  }

  // Rows that see few keys may have none to give to: a causal model's first ones.
  void expect_done(const std::vector<Index>& pressed) const {
    const Index undone = std::ranges::count(pressed, kUndone);
    EXPECT_LE(undone, causal() ? std::ssize(pressed) : 0);
    EXPECT_GT(std::ranges::count_if(pressed, [](Index n) { return n > 0; }), 0)
        << "shows nothing unless keys are pressed";
  }

  InterventionSettings pin(const std::string& across, Index layer, Index step) const {
    InterventionSettings settings = settings_of("pin-anchors=" + across);
    settings.epsilon = kEpsilon;
    settings.site.layers = {layer};
    settings.site.steps = parse_steps(fmt::to_string(step));
    return settings;
  }
};

// All below a pinned layer is as it was, so its own attention is that of a plain pass.
TEST_P(Pinned, AcrossStepsMovesAnchorsToThoseOfTheFirstStepAndNothingElse) {
  std::vector<Index> pressed;
  const std::size_t step = 3;
  for (Index l = 0; l < model_.config().L; ++l) {
    const InterventionSettings settings = pin("steps", l, step);
    MatrixObserver watching;
    run(&settings, &watching);
    watching.finish_pass();
    const auto rows = [&](const std::vector<TokenId>& tokens) { return causal() ? 1 : std::ssize(tokens); };
    std::vector<Index> set;  // of the first step that has one
    for (std::size_t s = 0; s < step && set.empty(); ++s) {
      const std::vector<TokenId>& tokens = watching.tokens[s];
      set = counted(plain(tokens).at({0, l}), std::ssize(tokens), rows(tokens)).anchors();
    }
    if (set.empty()) continue;
    const std::vector<TokenId>& now = watching.tokens[step];
    const CountedRows free = counted(plain(now).at({0, l}), std::ssize(now), rows(now));
    const CountedRows after = counted(watching.steps[step].at({0, l}), std::ssize(now), rows(now));
    // A causal model's cache and a pass over all tokens round differently.
    if (causal() && std::ranges::includes(set, free.anchors())) continue;
    SCOPED_TRACE(fmt::format("layer {}", l));
    pressed.push_back(check_layer(free, after, set));
  }
  expect_done(pressed);
}

TEST_P(Pinned, AcrossLayersMovesAnchorsToThoseOfTheFirstLayerAndNothingElse) {
  std::vector<Index> pressed;
  for (Index l = 1; l < model_.config().L; l += 2) {
    const InterventionSettings settings = pin("layers", l, 0);
    MatrixObserver watching;
    run(&settings, &watching);
    watching.finish_pass();
    const Index N = std::ssize(watching.tokens[0]);
    const PassMatrices unmodified = plain(watching.tokens[0]);
    std::vector<Index> set;
    for (Index below = 0; below < l && set.empty(); ++below) {
      set = counted(unmodified.at({0, below}), N, N).anchors();
    }
    if (set.empty()) continue;
    SCOPED_TRACE(fmt::format("layer {}", l));
    const CountedRows after = counted(watching.steps[0].at({0, l}), N, N);
    pressed.push_back(check_layer(counted(unmodified.at({0, l}), N, N), after, set));
  }
  expect_done(pressed);
}

TEST_P(Pinned, DependsNeitherOnThreadsNorOnTheBatch) {
  for (const char* text : {"pin-anchors=steps", "pin-random=layers", "mask-random=3"}) {
    InterventionSettings settings = settings_of(text);
    settings.epsilon = kEpsilon;
    const std::vector<TracedSample> together = trace(&settings);
    const std::vector<TracedSample> on_one_thread = trace_with(&settings, examples_, 1, 0);
    for (std::size_t i = 0; i < examples_.size(); ++i) {
      const std::vector<TracedSample> alone =
          trace_with(&settings, std::span(examples_).subspan(i, 1), 2, static_cast<Index>(i));
      for (const TracedSample* other : {&on_one_thread[i], &alone[0]}) {
        EXPECT_EQ(together[i].generation.tokens, other->generation.tokens) << text;
        EXPECT_EQ(together[i].generation.confidence, other->generation.confidence) << text;
        EXPECT_EQ(together[i].trace.finished.received, other->trace.finished.received) << text;
        ASSERT_EQ(together[i].dose.size(), other->dose.size()) << text;
        ASSERT_FALSE(together[i].dose.empty()) << text;
        for (std::size_t d = 0; d < other->dose.size(); ++d) {
          EXPECT_EQ(together[i].dose[d].value, other->dose[d].value)
              << text << " " << other->dose[d].quantity;
        }
      }
    }
  }
}

TEST_P(Pinned, TheControlHasTheDoseOfWhatItControls) {
  const auto mass = [&](const char* text) {
    InterventionSettings settings = settings_of(text);
    settings.epsilon = kEpsilon;
    double moved = 0, unsettled = 0;
    for (const TracedSample& sample : trace(&settings)) {
      for (const Measurement& m : sample.dose) {
        if (m.quantity == "dose_mass") moved += m.value;
        if (m.quantity == "dose_unsettled") unsettled += m.value;
      }
    }
    const bool all_see_the_set = !causal() || settings.parameter == "steps";
    EXPECT_LE(unsettled, all_see_the_set ? 0 : 20) << text;
    return moved;
  };
  for (const std::string across : {"steps", "layers"}) {
    const double pinned = mass(("pin-anchors=" + across).c_str());
    EXPECT_GT(pinned, 1e-3) << "shows nothing unless attention is moved";
    EXPECT_NEAR(mass(("pin-random=" + across).c_str()) / pinned, 1, 0.25) << across;
  }
}

INSTANTIATE_TEST_SUITE_P(Pair, Pinned, testing::Values("mini-mdm", "mini-arm"),
                         [](const auto& model) { return std::string(model.param).substr(5); });

}  // namespace
}  // namespace buoy
