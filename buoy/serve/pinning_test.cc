// Forks that hold anchors where they are: the same bits up to their step, no other anchors after it, and the
// intervention of that name where they begin with the run.
#include "buoy/serve/pinning.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "buoy/engine/tracing_model.h"
#include "buoy/probe/trace_arrays.h"
#include "buoy/serve/explorer_testing.h"

namespace buoy {
namespace {

using AnchorSets = std::map<std::pair<Index, Index>, std::set<Index>>;  // of {step, layer}

AnchorSets anchors_of(Visitor& visitor, const std::string& run) {
  AnchorSets sets;
  for (const Json& a : visitor.json("GET", "/runs/" + run + "/anchors", nullptr, {{"rows", "all"}}))
    sets[{a["step"].get<Index>(), a["layer"].get<Index>()}].insert(a["position"].get<Index>());
  return sets;
}

std::string pinned_fork(Visitor& visitor, const std::string& parent, Index step,
                        const std::vector<Index>& layers) {
  const Json fork =
      visitor.json("POST", "/runs/" + parent + "/fork", {{"step", step}, {"pin_anchors", layers}});
  return fork["id"].get<std::string>();
}

std::vector<Index> all_layers(const Json& run) {
  return run["layers"].get<std::vector<Index>>();
}

// A step and a layer whose anchors are not all anchors at the step before.
struct Floating {
  Index t = 0, layer = 0;       // the step before, whose anchors are held
  std::set<Index> held, risen;  // its anchors; those of the next that are none of them
};

std::optional<Floating> find_floating(const AnchorSets& sets, Index S) {
  for (const auto& [place, anchors] : sets) {
    const auto next = sets.find({place.first + 1, place.second});
    if (place.first + 1 >= S || next == sets.end()) continue;
    Floating found{.t = place.first, .layer = place.second, .held = anchors, .risen = {}};
    for (const Index p : next->second) {
      if (!anchors.contains(p)) found.risen.insert(p);
    }
    if (!found.risen.empty()) return found;
  }
  return std::nullopt;
}

// What a key may receive without being an anchor, of N that receive so much under full attention.
double level_of(std::span<const float> received) {
  const double null = 1.0 / static_cast<double>(received.size());
  double squares = 0;
  for (const float r : received) squares += (r - null) * (r - null) * null;
  return std::max(null + 3 * std::sqrt(squares), 2 * null);
}

// Before its first pass under biases a fork has written what its run has, and in the layers below a pinned
// one it computes the same: what its run received there is what it would have received.
TEST(Pins, HoldTheAnchorsOfTheirStepInTheNext) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  const std::string parent = visitor.start(small_body("mini-mdm", 8));
  const Json run = visitor.done(parent);
  const Index L = std::ssize(run["layers"]), N = std::ssize(run["tokens"]);
  const std::optional<Floating> floating =
      find_floating(anchors_of(visitor, parent), run["steps"].get<Index>());
  ASSERT_TRUE(floating) << "there is something to hold";
  const std::string fork = pinned_fork(visitor, parent, floating->t, {floating->layer});
  const Json after = visitor.done(fork);
  for (const char* name : {"received", "received_read", "step_tokens", "flow", "guesses"})
    expect_same_before(visitor, parent, fork, floating->t + 1, name);  // the step itself says which anchors
  const std::vector<float> all_free = visitor.array("/runs/" + parent + "/arrays/received").as_floats(),
                           all_pinned = visitor.array("/runs/" + fork + "/arrays/received").as_floats();
  const auto row = [&](const std::vector<float>& all, Index layer) {
    return std::span(all).subspan(at(((floating->t + 1) * L + layer) * N), at(N));
  };
  for (Index l = 0; l < floating->layer; ++l)
    EXPECT_TRUE(std::ranges::equal(row(all_free, l), row(all_pinned, l))) << "layer " << l << " is below it";
  const auto free = row(all_free, floating->layer), pinned = row(all_pinned, floating->layer);
  double held_before = 0, held_after = 0, risen = 0, pressed = 0;
  for (Index j = 0; j < N; ++j) {
    if (floating->held.contains(j)) {
      held_before += free[at(j)];
      held_after += pinned[at(j)];
      continue;
    }
    EXPECT_LE(pinned[at(j)], level_of(free) * (1 + 1e-5)) << "key " << j;
    if (!floating->risen.contains(j)) continue;
    EXPECT_GE(pinned[at(j)], 0.98 * level_of(free)) << "pressed no further than it must be: " << j;
    risen += free[at(j)];
    pressed += pinned[at(j)];
  }
  EXPECT_GT(risen, pressed);
  EXPECT_NEAR(held_after + pressed, held_before + risen, 0.005 * (held_before + risen))
      << "they are given what others lose";
  const Json pins = after["pins"];
  ASSERT_EQ(pins.size(), 1u);
  EXPECT_EQ(pins[0]["layer"], floating->layer);
  EXPECT_EQ(pins[0]["step"], floating->t);
  EXPECT_EQ(pins[0]["positions"].get<std::set<Index>>(), floating->held);
  EXPECT_GT(pins[0]["pressed"], 0);
}

TEST(Pins, OfTheFirstStepAreTheInterventionOfThatName) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  for (const char* name : {"mini-mdm", "mini-arm"}) {
    const std::string parent = visitor.start(small_body(name, 4));
    const std::string fork = pinned_fork(visitor, parent, 0, all_layers(visitor.done(parent)));
    visitor.done(fork);
    SamplerSettings sampler{.gen_length = 8};
    if (std::string(name) == "mini-mdm") sampler.steps = 4;
    const TracingModel model(
        {.model = name, .device = {.device = Device::kCpu, .threads = 1}, .places = kPlaces}, sampler, {}, {},
        nullptr);
    const InterventionSettings pin = parse_intervention("pin-anchors=steps").front();
    const TraceExample example = model.example(small_item());
    const Trace trace = trace_batch(model.variant(sampler, &pin), {&example, 1}, {})[0].trace;
    for (const TraceArray& array : trace_arrays()) {
      array.visit(trace, [&](const auto& values) {
        if (values.empty()) return;
        const std::vector<double> got =
            visitor.array("/runs/" + fork + "/arrays/" + std::string(array.name)).as_doubles();
        ASSERT_EQ(got.size(), values.size()) << array.name;
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(got[i], static_cast<double>(static_cast<float>(values[i]))) << name << " " << array.name;
      });
    }
  }
}

// What a key receives from all rows that a sequence has at a step, as it is computed again.
double received_again(Visitor& visitor, const std::string& run, Index t, Index layer, Index key,
                      double rows) {
  const NpyArray column = visitor.array("/runs/" + run + "/attention", {{"step", std::to_string(t)},
                                                                        {"layer", std::to_string(layer)},
                                                                        {"head", "mean"},
                                                                        {"position", std::to_string(key)},
                                                                        {"direction", "column"}});
  double sum = 0;
  for (const float v : column.as_floats()) sum += v / rows;
  return sum;
}

TEST(Pins, RowsComputedAgainAreThoseThatWereUsed) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  for (const char* name : {"mini-mdm", "mini-arm"}) {
    const std::string parent = visitor.start(small_body(name, 8));
    const std::string fork = pinned_fork(visitor, parent, 1, all_layers(visitor.done(parent)));
    const Json run = visitor.done(fork);
    const NpyArray received = visitor.array("/runs/" + fork + "/arrays/received");
    const std::vector<float> values = received.as_floats();
    const Index S = received.shape[0], L = received.shape[1], N = received.shape[2];
    Index pressed = 0;
    for (const Json& pin : run["pins"]) {
      pressed += pin["pressed"].get<Index>();
      const Index layer = pin["layer"].get<Index>();
      if (pin["pressed"] == 0) continue;
      for (Index t = 1; t < S; ++t) {
        for (const Json& key : pin["positions"]) {
          const Index j = key.get<Index>();
          EXPECT_NEAR(received_again(visitor, fork, t, layer, j, run["step_lengths"][at(t)].get<double>()),
                      values[at((t * L + layer) * N + j)], 2e-6)
              << name << ", step " << t << ", layer " << layer << ", key " << j;
        }
      }
      break;  // one layer says it
    }
    EXPECT_GT(pressed, 0) << name << ": pinning did something";
  }
}

TEST(Pins, ThatCannotBeCarriedOutAreRefusedWithTheReason) {
  const auto refused = [](const std::vector<RunChange>& changes, const SamplerSettings& sampler,
                          const ModelConfig& config) {
    try {
      check_pins(changes, sampler, config, "m");
    } catch (const HttpError& error) {
      EXPECT_EQ(error.status(), 400);
      return std::string(error.what());
    }
    return std::string();
  };
  const auto pin = [](Index step, Index layer) { return RunChange{.step = step, .pin_anchors = {layer}}; };
  const std::unique_ptr<Backend> backend = make_reference_backend();
  const ModelConfig hybrid = load_model(source_path("tests/goldens/ssd-hybrid"), *backend, {})->config();
  for (Index l = 0; l < hybrid.L; ++l) {
    const bool ssd = hybrid.layer(l).mixer == MixerKind::kSsd;
    EXPECT_EQ(refused({pin(0, l)}, {}, hybrid).find("state space") != std::string::npos, ssd) << l;
    EXPECT_EQ(refused({pin(0, l)}, {}, hybrid).empty(), !ssd) << l;
  }
  const ModelConfig llada = load_model(source_path("tests/goldens/llada"), *backend, {})->config();
  EXPECT_EQ(refused({pin(0, 0), pin(2, 1)}, {}, llada), "");
  EXPECT_NE(refused({pin(0, 0), pin(2, 0)}, {}, llada), "");
  EXPECT_NE(refused({pin(0, 0)}, {.cfg_scale = 0.5}, llada), "");
}

}  // namespace
}  // namespace buoy
