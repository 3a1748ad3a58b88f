#include "buoy/decode/golden.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>

#include "buoy/base/error.h"
#include "buoy/base/finite.h"
#include "buoy/decode/autoregressive.h"
#include "buoy/decode/masked_diffusion.h"
#include "buoy/model/capture.h"

namespace buoy {
namespace {

// Keeps the whole sequence after every step.
struct HistoryObserver : GenerationObserver {
  std::vector<std::vector<TokenId>> history;
  void after_step(Index, const Generation& generation) override { history.push_back(generation.tokens); }
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
    const std::vector<Index> ids = array->as_integers();
    return {ids.begin(), ids.end()};
  }

  void compare_values(const std::string& name, const Shape& shape, std::span<const float> got,
                      double tolerance, bool relative) {
    const NpyArray& want = *find(name);
    if (want.shape != shape) {
      fail("{}: \"{}\" is {}, expected {} for this model and input_ids", place, name, to_string(want.shape),
           to_string(shape));
    }
    const std::vector<float> expected = want.as_floats();
    if (!all_finite(expected)) fail("{}: \"{}\" holds a number that is not finite", place, name);
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

  void compare_tokens(const std::string& name, std::span<const TokenId> got, std::span<const TokenId> want) {
    Index equal = 0;
    for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) equal += got[i] == want[i];
    const bool passed = got.size() == want.size() && equal == std::ssize(want);
    checks.push_back({name, fmt::format("{} of {} tokens equal", equal, want.size()), passed});
  }

  // One pass over input_ids for logits, attentions and hidden states.
  void check_pass(const GoldenTolerance& tolerance) {
    const std::vector<TokenId> ids = tokens("input_ids");
    const ModelConfig& c = model.config();
    const Index T = std::ssize(ids);
    CaptureTap tap({.attentions = find("attentions") != nullptr, .hidden = find("hidden") != nullptr});
    std::vector<Index> rows(ids.size());
    std::iota(rows.begin(), rows.end(), 0);
    const ForwardSequence sequence{.ids = ids, .read_rows = rows};
    const Tensor logits = model.forward({&sequence, 1}, &tap);
    if (find("logits") != nullptr) {
      std::vector<float> values(static_cast<std::size_t>(T * c.V));
      model.backend().download(logits, values);
      compare_values("logits", {T, c.V}, values, tolerance.logits, true);
    }
    if (find("attentions") != nullptr) {
      compare_values("attentions", {c.L, c.H, T, T}, tap.attentions, tolerance.attentions, false);
    }
    if (find("hidden") != nullptr) {
      compare_values("hidden", {c.L + 1, T, c.E}, tap.hidden_states, tolerance.hidden, true);
    }
  }

  void check_greedy() {
    const std::vector<TokenId> prompt = tokens("input_ids"), want = tokens("greedy");
    if (want.size() <= prompt.size()) fail("{}: \"greedy\" is not longer than input_ids", place);
    const AutoregressiveOptions options{.max_new_tokens = std::ssize(want) - std::ssize(prompt)};
    compare_tokens("greedy", generate_autoregressive(model, {{prompt}}, options)[0].tokens, want);
  }

  // False when the name is no LLaDA generation.
  bool check_llada(const std::string& name) {
    int steps = 0, length = 0, block = 0, used = 0;
    double scale = 0;
    if (std::sscanf(name.c_str(), "gen_s%d_g%d_b%d_cfg%lf%n", &steps, &length, &block, &scale, &used) != 4 ||
        used != static_cast<int>(name.size())) {
      return false;
    }
    const LladaOptions options{
        .gen_length = length, .steps = steps, .block_length = block, .cfg_scale = scale};
    compare_tokens(name, generate_llada(model, {{tokens("prompt_ids")}}, options)[0].tokens, tokens(name));
    return true;
  }

  // False when the name is no Dream generation. Checks the matching hist_ array too.
  bool check_dream(const std::string& name) {
    static const std::map<std::string, DreamAlgorithm> kAlgorithms = {
        {"maskgit_plus", DreamAlgorithm::kMaskgitPlus},
        {"topk_margin", DreamAlgorithm::kTopkMargin},
        {"entropy", DreamAlgorithm::kEntropy}};
    for (const auto& [alg, value] : kAlgorithms) {
      const std::string prefix = "gen_" + alg + "_";
      int steps = 0, length = 0, used = 0;
      if (!name.starts_with(prefix) ||
          std::sscanf(name.c_str() + prefix.size(), "s%d_g%d%n", &steps, &length, &used) != 2 ||
          prefix.size() + static_cast<std::size_t>(used) != name.size()) {
        continue;
      }
      HistoryObserver observer;
      const DreamOptions options{.gen_length = length, .steps = steps, .alg = value};
      const auto made = generate_dream(model, {{tokens("prompt_ids")}}, options, &observer);
      compare_tokens(name, made[0].tokens, tokens(name));
      const std::string hist = "hist_" + name.substr(4);
      if (find(hist) != nullptr) compare_history(hist, observer.history);
      return true;
    }
    return false;
  }

  void compare_history(const std::string& name, const std::vector<std::vector<TokenId>>& history) {
    const std::vector<Index> want = find(name)->as_integers();
    std::vector<TokenId> flat;
    for (const auto& step : history) flat.insert(flat.end(), step.begin(), step.end());
    compare_tokens(name, flat, std::vector<TokenId>(want.begin(), want.end()));
  }
};

}  // namespace

std::vector<GoldenCheck> check_golden(const Model& model, const NpzArrays& golden, const std::string& place,
                                      const GoldenTolerance& tolerance) {
  GoldenRun run{model, golden, place, {}};
  run.check_pass(tolerance);
  const SamplerKind sampler = model.config().family->sampler;
  for (const auto& [name, array] : golden) {
    if (name == "input_ids" || name == "prompt_ids" || name == "logits" || name == "attentions" ||
        name == "hidden") {
      continue;
    }
    if (name.starts_with("hist_") && golden.contains("gen_" + name.substr(5))) continue;
    if (name == "greedy" && sampler == SamplerKind::kAutoregressive) {
      run.check_greedy();
      continue;
    }
    const bool known = sampler == SamplerKind::kLlada   ? run.check_llada(name)
                       : sampler == SamplerKind::kDream ? run.check_dream(name)
                                                        : false;
    if (!known)
      fail("{}: array \"{}\" is not one that verify knows for {}", place, name, model.config().family->name);
  }
  return std::move(run.checks);
}

}  // namespace buoy
