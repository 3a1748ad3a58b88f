#include "buoy/model/weights.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/ranges.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

bool is_weight_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBf16;
}

// "a; b; c and 4 more".
std::string shorten(const std::vector<std::string>& items, std::size_t most) {
  const std::size_t shown = std::min(items.size(), most);
  std::string text =
      fmt::format("{}", fmt::join(items.begin(), items.begin() + static_cast<Index>(shown), "; "));
  if (items.size() > shown) text += fmt::format(" and {} more", items.size() - shown);
  return text;
}

// An exponent of all ones marks NaN and infinity in each of the three formats.
template <typename Word>
Index count_exponent_ones(std::span<const std::byte> bytes, Word exponent) {
  Index count = 0;
  for (std::size_t i = 0; i + sizeof(Word) <= bytes.size(); i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    count += (word & exponent) == exponent;
  }
  return count;
}

// In a family whose layers differ in their mixers, a tensor too many says that the list of layers is wrong.
bool is_of_a_mixer(const std::string& name, const ModelConfig& config) {
  if (config.family->ssd == nullptr) return false;
  return std::ranges::any_of(config.family->ssd->mixer_parts,
                             [&](std::string_view part) { return name.find(part) != name.npos; });
}

// Lists the tensors of one layer, part by part.
class PartTensors {
 public:
  PartTensors(const ModelConfig& config, Index layer, std::vector<ExpectedTensor>& all)
      : c_(config), l_(layer), all_(all) {}

  void add_norm(NormKind kind, std::string_view pattern) {
    switch (kind) {
      case NormKind::kRms:
        return add(pattern, {c_.E});
    }
  }

  void add_mixer(MixerKind kind) {
    switch (kind) {
      case MixerKind::kAttention:
        if (names_.qkv.empty()) {
          add_projection(names_.q, c_.H * c_.D, c_.E, c_.qkv_bias);
          add_projection(names_.k, c_.Hkv * c_.D, c_.E, c_.qkv_bias);
          add_projection(names_.v, c_.Hkv * c_.D, c_.E, c_.qkv_bias);
        } else {
          add_projection(names_.qkv, (c_.H + 2 * c_.Hkv) * c_.D, c_.E, c_.qkv_bias);
        }
        if (c_.qk_norm) {
          add(names_.q_norm, {c_.D});
          add(names_.k_norm, {c_.D});
        }
        return add_projection(names_.o, c_.E, c_.H * c_.D, c_.output_bias);
      case MixerKind::kSsd:
        return add_ssd(*c_.ssd);
    }
  }

  void add_feed_forward(FeedForwardKind kind) {
    switch (kind) {
      case FeedForwardKind::kSwiglu:
        add(names_.gate, {c_.mlp(l_), c_.E});
        add(names_.up, {c_.mlp(l_), c_.E});
        return add(names_.down, {c_.E, c_.mlp(l_)});
      case FeedForwardKind::kExperts:
        return add_experts(*c_.experts);
    }
  }

 private:
  void add(std::string_view pattern, Shape shape) {
    all_.push_back({layer_tensor_name(pattern, l_), std::move(shape)});
  }
  void add_projection(std::string_view pattern, Index outputs, Index inputs, bool bias) {
    add(pattern, {outputs, inputs});
    if (bias) all_.push_back({bias_name(all_.back().name), {outputs}});
  }
  void add_experts(const ExpertShape& experts) {
    add(names_.router, {experts.count, c_.E});
    if (experts.bias) add(names_.router_bias, {experts.count});
    for (Index e = 0; e < experts.count; ++e) {
      all_.push_back({expert_tensor_name(names_.expert_gate, l_, e), {experts.F, c_.E}});
      all_.push_back({expert_tensor_name(names_.expert_up, l_, e), {experts.F, c_.E}});
      all_.push_back({expert_tensor_name(names_.expert_down, l_, e), {c_.E, experts.F}});
    }
    if (experts.shared_F == 0) return;
    add(names_.shared_gate, {experts.shared_F, c_.E});
    add(names_.shared_up, {experts.shared_F, c_.E});
    add(names_.shared_down, {c_.E, experts.shared_F});
  }

  void add_ssd(const SsdShape& ssd) {
    const Index columns = c_.H * (c_.D + 2 * ssd.n);  // values, B, C
    add(names_.ssd_in, {columns + 2 * c_.H, c_.E});
    add(names_.ssd_conv, {columns, 1, ssd.K});
    all_.push_back({bias_name(all_.back().name), {columns}});
    add(names_.ssd_dt_bias, {2 * c_.H});
    add(names_.ssd_a_log, {2 * c_.H});
    add(names_.ssd_fc_d, {c_.H, c_.E});
    add(names_.ssd_d, {c_.H});
    add(names_.ssd_norm, {c_.H * c_.D});
    add(names_.ssd_out, {c_.E, c_.H * c_.D});
  }

  const ModelConfig& c_;
  const WeightNames& names_ = c_.family->weights;
  Index l_;
  std::vector<ExpectedTensor>& all_;
};

}  // namespace

std::string layer_tensor_name(std::string_view pattern, Index layer) {
  return fmt::format(fmt::runtime(pattern), layer);
}

std::string expert_tensor_name(std::string_view pattern, Index layer, Index expert) {
  return fmt::format(fmt::runtime(pattern), layer, expert);
}

std::string bias_name(std::string_view weight_name) {
  constexpr std::string_view kSuffix = "weight";
  check(weight_name.ends_with(kSuffix), "weight names end in .weight");
  return fmt::format("{}bias", weight_name.substr(0, weight_name.size() - kSuffix.size()));
}

std::vector<ExpectedTensor> expected_tensors(const ModelConfig& c) {
  const WeightNames& names = c.family->weights;
  std::vector<ExpectedTensor> all;
  all.push_back({std::string(names.embedding), {c.V, c.E}});
  for (Index l = 0; l < c.L; ++l) {
    const LayerShape layer = c.layer(l);
    PartTensors parts(c, l, all);
    parts.add_norm(layer.norm, names.attention_norm);
    parts.add_mixer(layer.mixer);
    parts.add_norm(layer.norm, names.mlp_norm);
    parts.add_feed_forward(layer.feed_forward);
  }
  all.push_back({std::string(names.final_norm), {c.E}});
  if (!c.tied) all.push_back({std::string(names.head), {c.V, c.E}});
  return all;
}

WeightReport inspect_weights(const ModelConfig& config, const Checkpoint& checkpoint) {
  WeightReport report;
  std::set<std::string_view> known;
  std::set<DType> dtypes;
  const std::vector<ExpectedTensor> expected = expected_tensors(config);
  for (const ExpectedTensor& want : expected) {
    known.insert(want.name);
    const TensorView* got = checkpoint.find(want.name);
    if (got == nullptr) {
      report.problems.push_back(fmt::format("\"{}\" is missing", want.name));
      continue;
    }
    if (got->shape != want.shape) {
      report.problems.push_back(
          fmt::format("\"{}\" is {}, expected {}", want.name, to_string(got->shape), to_string(want.shape)));
    }
    if (!is_weight_type(got->dtype)) {
      report.problems.push_back(
          fmt::format("\"{}\" is {}, expected float32, float16 or bfloat16", want.name, name_of(got->dtype)));
    }
    report.parameters += element_count(got->shape);
    report.bytes += std::ssize(got->bytes);
    dtypes.insert(got->dtype);
  }
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    if (known.contains(name)) continue;
    if (is_of_a_mixer(name, config)) {
      report.problems.push_back(
          fmt::format("\"{}\" is there, but its layer's mixer has no such tensor", name));
    } else {
      report.unused.push_back(name);
    }
  }
  report.dtypes.assign(dtypes.begin(), dtypes.end());
  return report;
}

void verify_weights(const ModelConfig& config, const Checkpoint& checkpoint, const std::string& place,
                    const WarningSink& warnings) {
  const WeightReport report = inspect_weights(config, checkpoint);
  if (!report.problems.empty()) {
    fail("{}: {} problem{}: {}", place, report.problems.size(), report.problems.size() == 1 ? "" : "s",
         shorten(report.problems, 20));
  }
  if (!report.unused.empty()) {
    warn(warnings, fmt::format("{}: {} tensor{} not used by this family: {}", place, report.unused.size(),
                               report.unused.size() == 1 ? " is" : "s are", shorten(report.unused, 4)));
  }
  for (const ExpectedTensor& want : expected_tensors(config)) {
    const Index bad = count_nonfinite(*checkpoint.find(want.name));
    if (bad > 0) fail("{}: \"{}\" holds {} NaN or infinite weights", place, want.name, bad);
  }
}

Index count_nonfinite(const TensorView& tensor) {
  switch (tensor.dtype) {
    case DType::kF32:
      return count_exponent_ones<std::uint32_t>(tensor.bytes, 0x7f800000u);
    case DType::kBf16:
      return count_exponent_ones<std::uint16_t>(tensor.bytes, 0x7f80u);
    default:
      return count_exponent_ones<std::uint16_t>(tensor.bytes, 0x7c00u);
  }
}

}  // namespace buoy
