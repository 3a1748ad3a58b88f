#include "buoy/decode/golden.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "buoy/base/error.h"
#include "buoy/base/finite.h"
#include "buoy/decode/autoregressive.h"
#include "buoy/decode/golden_name.h"
#include "buoy/decode/sampler.h"
#include "buoy/io/json.h"
#include "buoy/model/capture.h"

namespace buoy {
namespace {

// Keeps the whole sequence after every step.
struct HistoryObserver : GenerationObserver {
  std::vector<std::vector<TokenId>> history;
  void after_step(Index, const Generation& generation) override { history.push_back(generation.tokens); }
};

// Keeps where rows went, beside what CaptureTap keeps.
struct RoutingTap : CaptureTap {
  using CaptureTap::CaptureTap;
  bool wants_routing() const override { return true; }
  void routed(Index layer, Index, const RoutedRows& routed) override {
    routing[layer] = {.active = routed.active,
                      .experts = {routed.experts.begin(), routed.experts.end()},
                      .weights = {routed.weights.begin(), routed.weights.end()}};
  }
  std::map<Index, Routing> routing;  // by layer
};

struct GoldenRun {
  const Model& model;
  const NpzArrays& golden;
  const std::string& place;
  std::vector<GoldenCheck> checks;

  const NpyArray* find(const std::string& name) const {
    const auto it = golden.find(name);
    return it == golden.end() ? nullptr : &it->second;
  }

  std::vector<TokenId> tokens(const std::string& name) const {
    const NpyArray* array = find(name);
    if (array == nullptr) fail("{}: array \"{}\" is missing", place, name);
    if (array->shape.size() != 1)
      fail("{}: \"{}\" is {}, expected [T]", place, name, to_string(array->shape));
    return ids_in(name);
  }

  // Numbers of any shape as ids; what does not fit one is no id that could be compared.
  std::vector<TokenId> ids_in(const std::string& name) const {
    std::vector<TokenId> ids;
    for (const Index id : find(name)->as_integers()) {
      if (!std::in_range<TokenId>(id)) fail("{}: \"{}\" holds {}, which is no id", place, name, id);
      ids.push_back(static_cast<TokenId>(id));
    }
    return ids;
  }

  std::vector<float> expected_values(const std::string& name, const Shape& shape) const {
    const NpyArray& want = *find(name);
    if (want.shape != shape) {
      fail("{}: \"{}\" is {}, expected {} for this model and input_ids", place, name, to_string(want.shape),
           to_string(shape));
    }
    std::vector<float> expected = want.as_floats();
    if (!all_finite(expected)) fail("{}: \"{}\" holds a number that is not finite", place, name);
    return expected;
  }

  void compare_values(const std::string& name, const Shape& shape, std::span<const float> got,
                      double tolerance, bool relative) {
    const std::vector<float> expected = expected_values(name, shape);
    const bool finite = all_finite(got);
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      worst = std::max(worst, std::abs(double{expected[i]} - got[i]));
      largest = std::max(largest, std::abs(double{expected[i]}));
    }
    const double error = relative && largest > 0 ? worst / largest : worst;
    const std::string measured =
        fmt::format("max error {:.1e}{}, limit {:.0e}", error, relative ? " of the largest" : "", tolerance);
    checks.push_back(
        {name, finite ? measured : "the model's numbers are not all finite", finite && error <= tolerance});
  }

  // Attentions of layers that have some, and implicit ones of state space layers, each by its own measure.
  void compare_mixed(std::span<const float> got, Index T, const GoldenTolerance& tolerance) {
    const ModelConfig& c = model.config();
    const std::vector<float> expected = expected_values("attentions", {c.L, c.H, T, T});
    const bool finite = all_finite(got);
    double worst = 0, farthest = 0;
    for (Index l = 0; l < c.L; ++l) {
      double sum = 0, largest = 0;
      for (Index i = l * c.H * T * T; i < (l + 1) * c.H * T * T; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double difference = std::abs(double{expected[at]} - got[at]);
        sum += difference;
        largest = std::max(largest, difference);
      }
      if (c.layer(l).mixer == MixerKind::kSsd) {
        farthest = std::max(farthest, sum / 2 / static_cast<double>(c.H * T));
      } else {
        worst = std::max(worst, largest);
      }
    }
    checks.push_back(
        {"attentions",
         finite ? fmt::format("max error {:.1e}, limit {:.0e}; implicit rows {:.1e} apart, limit {:.0e}",
                              worst, tolerance.attentions, farthest, tolerance.implicit)
                : "the model's numbers are not all finite",
         finite && worst <= tolerance.attentions && farthest <= tolerance.implicit});
  }

  void compare_tokens(const std::string& name, std::span<const TokenId> got, std::span<const TokenId> want,
                      std::string_view what = "tokens") {
    Index equal = 0;
    for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) equal += got[i] == want[i];
    const bool passed = got.size() == want.size() && equal == std::ssize(want);
    checks.push_back({name, fmt::format("{} of {} {} equal", equal, want.size(), what), passed});
  }

  void compare_number(const std::string& name, Index got) {
    const Index want = number(name);
    checks.push_back({name, fmt::format("{}, expected {}", got, want), got == want});
  }

  Index number(const std::string& name) const {
    const NpyArray* array = find(name);
    if (array == nullptr) fail("{}: array \"{}\" is missing", place, name);
    if (array->size() != 1) fail("{}: \"{}\" is {}, expected a number", place, name, to_string(array->shape));
    return array->as_integers()[0];
  }

  // The mask that the file's pass arrays were made under.
  Mask file_mask() const {
    if (find("block") != nullptr) return Mask::blocks(checked_block("block"));
    const NpyArray* named = find("mask");
    if (named == nullptr) return model.config().mask;
    if (named->is_text && named->text.size() == 1) {
      if (named->text[0] == "full") return Mask::kFull;
      if (named->text[0] == "causal") return Mask::kCausal;
    }
    fail("{}: \"mask\" is not \"full\" or \"causal\"", place);
  }

  Index checked_block(const std::string& name) const {
    const Index block = number(name);
    if (block < 1) fail("{}: \"{}\" is {}, expected at least 1", place, name, block);
    return block;
  }

  Tensor pass(const std::vector<TokenId>& ids, const Mask& mask, Tap* tap) const {
    std::vector<Index> rows(ids.size());
    std::iota(rows.begin(), rows.end(), 0);
    const ForwardSequence sequence{.ids = ids, .read_rows = rows, .mask = mask};
    return model.forward({&sequence, 1}, tap);
  }

  void check_logits(const std::string& name, const std::vector<TokenId>& ids, const Tensor& logits,
                    const GoldenTolerance& tolerance) {
    const Index T = std::ssize(ids), V = model.config().V;
    std::vector<float> values(static_cast<std::size_t>(T * V));
    model.backend().download(logits, values);
    compare_values(name, {T, V}, values, tolerance.logits, true);
  }

  // One pass over input_ids for logits, attentions, hidden states and experts; one for each other mask.
  void check_passes(const GoldenTolerance& tolerance) {
    const std::vector<TokenId> ids = tokens("input_ids");
    const ModelConfig& c = model.config();
    const Index T = std::ssize(ids);
    RoutingTap tap({.attentions = find("attentions") != nullptr, .hidden = find("hidden") != nullptr});
    const Tensor logits = pass(ids, file_mask(), &tap);
    if (find("logits") != nullptr) check_logits("logits", ids, logits, tolerance);
    if (find("attentions") != nullptr) {
      if (c.ssd.has_value() && tolerance.implicit > 0) {
        compare_mixed(tap.attentions, T, tolerance);
      } else {
        compare_values("attentions", {c.L, c.H, T, T}, tap.attentions, tolerance.attentions, false);
      }
    }
    if (find("hidden") != nullptr) {
      compare_values("hidden", {c.L + 1, T, c.E}, tap.hidden_states, tolerance.hidden, true);
    }
    if (find("experts") != nullptr || find("weights") != nullptr) check_experts(tap.routing, T, tolerance);
    if (find("logits_causal") != nullptr) {
      check_logits("logits_causal", ids, pass(ids, Mask::kCausal, nullptr), tolerance);
    }
    if (find("bd3lm_logits") != nullptr) {
      const std::vector<TokenId> in_blocks = tokens("bd3lm_ids");
      const BlockOptions options{.block_length = checked_block("bd3lm_block"), .start = BlockStart::kAnswer};
      const Mask mask = block_mask(options, std::ssize(tokens("prompt_ids")));
      check_logits("bd3lm_logits", in_blocks, pass(in_blocks, mask, nullptr), tolerance);
    }
    if (find("mask_id") != nullptr && c.mask_id) compare_number("mask_id", *c.mask_id);
  }

  // Experts in the order chosen, -1 in dense layers, and their weights.
  void check_experts(const std::map<Index, Routing>& routing, Index T, const GoldenTolerance& tolerance) {
    const ModelConfig& c = model.config();
    if (!c.experts) fail("{}: has experts, and {} has none", place, c.family->name);
    const Index active = c.experts->rule.active;
    const auto size = static_cast<std::size_t>(c.L * T * active);
    std::vector<TokenId> experts(size, -1);
    std::vector<float> weights(size, 0);
    for (const auto& [layer, routed] : routing) {
      std::ranges::copy(routed.experts, experts.begin() + layer * T * active);
      std::ranges::copy(routed.weights, weights.begin() + layer * T * active);
    }
    if (find("experts") != nullptr) {
      compare_tokens("experts", experts, ids_in("experts"), "experts");
    }
    if (find("weights") != nullptr)
      compare_values("weights", {c.L, T, active}, weights, tolerance.logits, true);
  }

  void check_greedy() {
    const std::vector<TokenId> prompt = tokens("input_ids"), want = tokens("greedy");
    if (want.size() <= prompt.size()) fail("{}: \"greedy\" is not longer than input_ids", place);
    const AutoregressiveOptions options{.max_new_tokens = std::ssize(want) - std::ssize(prompt)};
    compare_tokens("greedy", generate_autoregressive(model, {{prompt}}, options)[0].tokens, want);
  }

  // Steps at which the generated positions were written; names the first that was written at another.
  void compare_order(const std::string& name, const Generation& made) {
    const NpyArray& array = *find(name);
    const std::vector<Index> got = made.commit_step, want = array.as_integers();
    if (array.shape != Shape{std::ssize(got)}) {
      fail("{}: \"{}\" is {}, expected {}", place, name, to_string(array.shape),
           to_string(Shape{std::ssize(got)}));
    }
    Index equal = 0, first = -1;
    for (Index i = 0; i < std::ssize(got); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (got[at] == want[at]) {
        ++equal;
      } else if (first < 0 || want[at] < want[static_cast<std::size_t>(first)]) {
        first = i;
      }
    }
    std::string measured = fmt::format("{} of {} positions written at the same step", equal, got.size());
    if (first >= 0) {
      measured += fmt::format(", position {} at {}, expected {}", first, got[static_cast<std::size_t>(first)],
                              want[static_cast<std::size_t>(first)]);
    }
    checks.push_back({name, measured, first < 0});
  }

  void compare_generation(const std::string& name, const GoldenName& g, const Generation& made) {
    if (g.head == "order") return compare_order(name, made);
    compare_tokens(name, made.tokens, tokens(name));
  }

  // Each returns false when the name is no generation of that sampler.
  bool check_llada(const std::string& name, const GoldenName& g, LladaQuota quota) {
    const std::vector<std::string> types = confidence_type_names();
    const bool order = g.head == "order" && std::ranges::find(types, g.words) != types.end();
    const bool gen = g.head == "gen" && g.words.empty();
    if ((!order && !gen) || !g.is_made_of("s g b cfg")) return false;
    const LladaOptions options{.gen_length = g.count("g"),
                               .steps = g.count("s"),
                               .block_length = g.count("b"),
                               .quota = quota,
                               .confidence = order ? parse_confidence_type(g.words) : ConfidenceType::kF64,
                               .cfg_scale = g.numbers.at("cfg")};
    compare_generation(name, g, generate_llada(model, {{tokens("prompt_ids")}}, options)[0]);
    return true;
  }

  // Checks the matching hist_ array too.
  bool check_dream(const std::string& name, const GoldenName& g) {
    const std::vector<std::string> known = dream_algorithm_names();
    if ((g.head != "gen" && g.head != "order") || !g.is_made_of("s g") || g.words == "origin" ||
        std::ranges::find(known, g.words) == known.end()) {
      return false;
    }
    HistoryObserver observer;
    const DreamOptions options{
        .gen_length = g.count("g"), .steps = g.count("s"), .alg = parse_dream_algorithm(g.words)};
    const auto made = generate_dream(model, {{tokens("prompt_ids")}}, options, &observer);
    compare_generation(name, g, made[0]);
    const std::string hist = "hist_" + name.substr(4);
    if (g.head == "gen" && find(hist) != nullptr) compare_history(hist, observer.history);
    return true;
  }

  // Runs a block sampler; what comes of it is compared as the family's own code returns it.
  void check_blocks(const std::string& name, const BlockOptions& options, SamplerKind sampler) {
    const std::vector<TokenId> prompt = tokens("prompt_ids"), want = tokens(name);
    std::vector<TokenId> got = generate_blocks(model, {{prompt}}, options)[0].tokens;
    const auto cut_behind_stop = [&] {
      const auto stop = std::find_first_of(got.begin() + std::ssize(prompt), got.end(),
                                           options.stop_ids.begin(), options.stop_ids.end());
      if (stop != got.end()) got.erase(stop + 1, got.end());
    };
    if (sampler == SamplerKind::kLlada2) {  // the generated part, no longer than asked for
      got.resize(std::min(got.size(), prompt.size() + static_cast<std::size_t>(options.gen_length)));
      cut_behind_stop();
      got.erase(got.begin(), got.begin() + std::ssize(prompt));
    } else if (sampler == SamplerKind::kFastDllm) {
      cut_behind_stop();
    } else if (sampler == SamplerKind::kStableDiffcoder) {  // ends with the last block that was begun
      got.erase(std::find(got.begin() + std::ssize(prompt), got.end(), *model.config().mask_id), got.end());
    }
    compare_tokens(name, got, want);
  }

  bool check_bd3lm(const std::string& name, const GoldenName& g) {
    if (g.head != "bd3lm" || !g.words.empty() || !g.is_made_of("s g b")) return false;
    const Index blocks = (g.count("g") + g.count("b") - 1) / g.count("b");
    check_blocks(name,
                 {.gen_length = g.count("g"),
                  .block_length = g.count("b"),
                  .block_steps = (g.count("s") + blocks - 1) / blocks,
                  .start = BlockStart::kAnswer,
                  .quota = BlockQuota::kScheduled,
                  .extent = BlockExtent::kExact},
                 SamplerKind::kBd3lm);
    return true;
  }

  bool check_block_family(const std::string& name, const GoldenName& g, SamplerKind sampler) {
    const bool fast = sampler == SamplerKind::kFastDllm, sdar = sampler == SamplerKind::kSdar;
    const bool top1 = sdar && g.head == "top1";
    if ((g.head != "gen" && !top1) || (!sdar && !g.words.empty())) return false;
    if (fast ? !g.is_made_of("g b sb t", "eos") : !g.is_made_of("s g b", sdar ? "t stop" : "t eos"))
      return false;
    SamplerSettings s{.gen_length = g.count("g")};
    s.block_length = g.count("b");
    if (g.has("t")) s.threshold = g.numbers.at("t");
    if (fast) s.sub_block_length = g.count("sb");
    if (top1) s.temperature = 1, s.top_k = 1;
    if (g.words == "sequential") s.remasking = Remasking::kSequential;
    s.ignore_eos = true;
    for (const char* stop : {"eos", "stop"}) {
      if (g.has(stop)) s.stop_ids = {static_cast<TokenId>(g.count(stop))};
    }
    BlockOptions options = block_options(s, model.config());
    if (sdar) options.block_steps = g.count("s");
    if (sampler == SamplerKind::kLlada2) options.block_steps = std::min(g.count("s"), g.count("g"));
    if (sampler == SamplerKind::kStableDiffcoder) {
      options.block_steps = std::max<Index>(1, g.count("s") / (g.count("g") / g.count("b")));
    }
    check_blocks(name, options, sampler);
    return true;
  }

  bool check_generation(const std::string& name) {
    const std::optional<GoldenName> g = parse_golden_name(name);
    if (!g) return false;
    switch (const SamplerKind sampler = model.config().family->sampler) {
      case SamplerKind::kLlada:
        return check_llada(name, *g, LladaQuota::kEven);
      case SamplerKind::kA2d:
        return check_llada(name, *g, LladaQuota::kScheduled) || check_bd3lm(name, *g);
      case SamplerKind::kBd3lm:
        return check_bd3lm(name, *g);
      case SamplerKind::kDream:
        return check_dream(name, *g);
      case SamplerKind::kAutoregressive:
        return false;
      default:
        return check_block_family(name, *g, sampler);
    }
  }

  void compare_history(const std::string& name, const std::vector<std::vector<TokenId>>& history) {
    std::vector<TokenId> flat;
    for (const auto& step : history) flat.insert(flat.end(), step.begin(), step.end());
    compare_tokens(name, flat, ids_in(name));
  }
};

}  // namespace

std::vector<GoldenCheck> check_golden(const Model& model, const NpzArrays& golden, const std::string& place,
                                      const GoldenTolerance& tolerance) {
  constexpr std::string_view kOfPasses[] = {"logits",  "attentions",    "hidden",      "experts",
                                            "weights", "logits_causal", "bd3lm_logits"};
  GoldenRun run{model, golden, place, {}};
  std::vector<GoldenCheck> others;
  const auto leave = [&](const std::string& name, std::string_view why) {
    others.push_back({.array = name, .measured = std::string(why), .passed = true, .compared = false});
  };
  run.check_passes(tolerance);
  const ModelConfig& config = model.config();
  const bool other_mask = run.find("mask") != nullptr && run.file_mask() != config.mask;
  for (const auto& [name, array] : golden) {
    if (std::ranges::find(kOfPasses, name) != std::end(kOfPasses)) continue;
    if (const std::string_view use = golden_input(name); !use.empty()) {
      leave(name, use);
      continue;
    }
    if (name == "mask_id") {
      if (!config.mask_id) leave(name, "not compared: as it was read the model has no mask");
      continue;
    }
    if (name.starts_with("hist_") && golden.contains("gen_" + name.substr(5))) continue;
    if (name == "greedy" && config.family->sampler == SamplerKind::kAutoregressive) {
      run.check_greedy();
      continue;
    }
    if (other_mask && parse_golden_name(name)) {  // its passes were compared
      leave(name, "not compared: written by a model that sees otherwise");
      continue;
    }
    if (!run.check_generation(name)) {
      fail("{}: array {} is not one that verify knows for {}", place, quote(name), config.family->name);
    }
  }
  if (run.checks.empty()) fail("{}: holds nothing to compare {} with", place, config.family->name);
  run.checks.insert(run.checks.end(), others.begin(), others.end());
  return std::move(run.checks);
}

}  // namespace buoy
