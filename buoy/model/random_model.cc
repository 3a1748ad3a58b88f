#include "buoy/model/random_model.h"

#include <algorithm>
#include <bit>
#include <functional>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/base/random.h"
#include "buoy/model/weights.h"

namespace buoy {
namespace {

// Sizes as in the published config.json files; `mini` is the bundled models' shape with a longer context and
// `small` fits a laptop.
struct NamedShape {
  std::string_view name, model_type;
  Index L, E, H, Hkv, F, V, context;
  Index D = 0;             // 0: E / H
  Index rotary = 0;        // 0: D
  Index state = 0;         // of state space mixers; 0: attention in all layers
  Index attention_at = 0;  // where they are: every so-manieth layer has attention; 0: none
  Index ssd_F = 0;
  Index experts = 0, active = 0, expert_F = 0, shared_F = 0, groups = 1, kept_groups = 1, dense_layers = 0;
};
constexpr NamedShape kShapes[] = {
    {"llada-8b", "llada", 32, 4096, 32, 32, 12288, 126464, 32768},
    {"dream-7b", "Dream", 28, 3584, 28, 4, 18944, 152064, 32768},
    {"llama-8b", "llama", 32, 4096, 32, 8, 14336, 128256, 32768},
    {"qwen-7b", "qwen2", 28, 3584, 28, 4, 18944, 152064, 32768},
    {"qwen3-8b", "qwen3", 36, 4096, 32, 8, 12288, 151936, 32768, 128},
    {"sdar-4b", "sdar", 36, 2560, 32, 8, 9728, 151936, 32768, 128},
    {.name = "llada-moe-7b",
     .model_type = "lladamoe",
     .L = 16,
     .E = 2048,
     .H = 16,
     .Hkv = 16,
     .F = 0,
     .V = 157184,
     .context = 8192,
     .experts = 64,
     .active = 8,
     .expert_F = 1024},
    {.name = "llada2-mini",
     .model_type = "llada2_moe",
     .L = 20,
     .E = 2048,
     .H = 16,
     .Hkv = 4,
     .F = 5120,
     .V = 157184,
     .context = 8192,
     .D = 128,
     .rotary = 64,
     .experts = 256,
     .active = 8,
     .expert_F = 512,
     .shared_F = 512,
     .groups = 8,
     .kept_groups = 4,
     .dense_layers = 1},
    {"small", "llada", 24, 1024, 16, 16, 2816, 32000, 8192},
    {"mini", "llada", 12, 160, 5, 5, 432, 2048, 32768},
    {.name = "mini-ssm",
     .model_type = "buoy_ssd_mdm",
     .L = 12,
     .E = 160,
     .H = 5,
     .Hkv = 5,
     .F = 432,
     .V = 2048,
     .context = 32768,
     .state = 32,
     .ssd_F = 416},
    {.name = "mini-hybrid",
     .model_type = "buoy_ssd_mdm",
     .L = 12,
     .E = 160,
     .H = 5,
     .Hkv = 5,
     .F = 432,
     .V = 2048,
     .context = 32768,
     .state = 32,
     .attention_at = 4,
     .ssd_F = 416},
};

// A pattern this long repeats; no tensor of a layer starts at the same place of it as its neighbour.
constexpr std::size_t kPattern = (std::size_t{1} << 22) + 1237;

ExpertShape make_experts(const NamedShape& shape, const Family& family) {
  const RouterKind router = family.experts->router;
  const bool sigmoid = router == RouterKind::kSigmoid;
  ExpertShape made{.count = shape.experts,
                   .F = shape.expert_F,
                   .shared_F = shape.shared_F,
                   .rule = {.kind = router,
                            .active = shape.active,
                            .groups = shape.groups,
                            .kept_groups = shape.kept_groups,
                            .normalize = sigmoid},
                   .bias = sigmoid,
                   .layers = std::vector<bool>(static_cast<std::size_t>(shape.L), true)};
  std::fill_n(made.layers.begin(), shape.dense_layers, false);
  return made;
}

SsdShape make_ssd(const NamedShape& shape) {
  SsdShape made{.n = shape.state, .K = 7, .F = shape.ssd_F};
  for (Index l = 0; l < shape.L; ++l)
    made.layers.push_back(shape.attention_at == 0 || l % shape.attention_at != shape.attention_at - 1);
  return made;
}

}  // namespace

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const NamedShape& shape : kShapes) names.emplace_back(shape.name);
  return names;
}

ModelConfig make_shape(const std::string& name) {
  const auto* shape = std::ranges::find(kShapes, name, &NamedShape::name);
  if (shape == std::end(kShapes))
    fail("unknown shape \"{}\"; known: {}", name, fmt::join(shape_names(), ", "));
  const Family* family = find_family(shape->model_type);
  ModelConfig config;
  config.family = family;
  config.L = shape->L;
  config.E = shape->E;
  config.H = shape->H;
  config.Hkv = shape->Hkv;
  config.D = shape->D == 0 ? shape->E / shape->H : shape->D;
  config.rotary = shape->rotary;
  config.F = shape->F;
  config.V = shape->V;
  config.context = shape->context;
  config.block = family->block;
  config.mask = family->block > 0 ? Mask::blocks(family->block) : family->mask;
  config.rms_epsilon = static_cast<float>(family->rms_epsilon);
  config.rope_theta = family->rope_theta;
  config.qkv_bias = family->qkv_bias;
  config.qk_norm = family->qk_norm;
  if (shape->experts > 0) config.experts = make_experts(*shape, *family);
  if (shape->state > 0) config.ssd = make_ssd(*shape);
  if (family->writing == Writing::kFillsMasks) config.mask_id = 0;
  return config;
}

RandomWeights::RandomWeights(const ModelConfig& config) {
  std::size_t largest = 0, longest = 0;
  for (const ExpectedTensor& tensor : expected_tensors(config)) {
    const auto count = static_cast<std::size_t>(element_count(tensor.shape));
    (tensor.shape.size() == 1 ? longest : largest) =
        std::max(count, tensor.shape.size() == 1 ? longest : largest);
    shapes_.emplace(tensor.name, tensor.shape);
  }
  ones_.assign(longest, 0x3f80);         // 1.0 in bf16
  small_steps_.assign(longest, 0xc0a0);  // -5.0: steps of 0.007
  noise_.resize(largest + kPattern);
  for (std::size_t i = 0; i < std::min(kPattern, noise_.size()); ++i) {
    const auto value = static_cast<float>((2 * uniform({.seed = 11}, i) - 1) * 0.0346);
    noise_[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  }
  for (std::size_t i = kPattern; i < noise_.size(); ++i) noise_[i] = noise_[i - kPattern];
}

TensorView RandomWeights::find(std::string_view name) const {
  const auto found = shapes_.find(name);
  check(found != shapes_.end(), "a random model has every tensor its family expects");
  const Shape& shape = found->second;
  const auto count = static_cast<std::size_t>(element_count(shape));
  if (name.ends_with("dt_bias"))
    return {DType::kBf16, shape, std::as_bytes(std::span(small_steps_).first(count))};
  if (shape.size() == 1) return {DType::kBf16, shape, std::as_bytes(std::span(ones_).first(count))};
  const std::size_t start = std::hash<std::string_view>{}(name) % kPattern;
  return {DType::kBf16, shape, std::as_bytes(std::span(noise_).subspan(start, count))};
}

}  // namespace buoy
