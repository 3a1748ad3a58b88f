// From tensors to the parts of layers.
#include <cmath>

#include "buoy/base/error.h"
#include "buoy/model/rope.h"
#include "buoy/model/transformer.h"
#include "buoy/model/weights.h"

namespace buoy {

// Makes the parts of one layer from its tensors: a function for each place, a case for each kind.
class Transformer::PartLoader {
 public:
  PartLoader(const ModelConfig& config, Index l, const TensorFinder& find, Backend& backend)
      : config_(config), l_(l), find_(find), backend_(backend) {}

  static Norm norm(NormKind kind, const TensorView& weight, const ModelConfig& config, Backend& backend) {
    switch (kind) {
      case NormKind::kRms:
        return RmsNorm{backend.make_vector(weight), config.rms_epsilon};
    }
    throw InternalError("a norm of no kind");
  }

  Layer layer() const {
    const LayerShape shape = config_.layer(l_);
    return {.mixer_norm = norm(shape.norm, tensor(names_.attention_norm), config_, backend_),
            .mixer = mixer(shape),
            .output = output(shape.mixer),
            .feed_forward_norm = norm(shape.norm, tensor(names_.mlp_norm), config_, backend_),
            .feed_forward = feed_forward(shape.feed_forward)};
  }

 private:
  Mixer mixer(const LayerShape& shape) const {
    switch (shape.mixer) {
      case MixerKind::kAttention:
        return attention(shape.positions);
      case MixerKind::kSsd:
        return state_space(*config_.ssd);
    }
    throw InternalError("a mixer of no kind");
  }

  std::unique_ptr<Linear> output(MixerKind mixer) const {
    if (mixer == MixerKind::kSsd) return linear({names_.ssd_out});
    return linear({names_.o}, biases({names_.o}, config_.output_bias));
  }

  StateSpace state_space(const SsdShape& shape) const {
    return {.projection = linear({names_.ssd_in, names_.ssd_fc_d}),
            .convolution = convolution(shape.K),
            .weights = {.dt_bias = backend_.make_vector(tensor(names_.ssd_dt_bias)),
                        .a_log = decays(),
                        .skip = backend_.make_vector(tensor(names_.ssd_d))},
            .norm = {backend_.make_vector(tensor(names_.ssd_norm)), config_.rms_epsilon}};
  }

  // exp(A_log) multiplies Δ: where it overflows, a step of 0 would decay by NaN.
  Tensor decays() const {
    const Tensor logs = backend_.make_vector(tensor(names_.ssd_a_log));
    for (const float value : host_copy(logs)) {
      if (!std::isfinite(std::exp(value))) {
        fail("\"{}\" holds {}: exp({}) is no finite decay in float32",
             layer_tensor_name(names_.ssd_a_log, l_), value, value);
      }
    }
    return logs;
  }

  // [columns, 1, K] → [K, columns].
  Convolution convolution(Index K) const {
    const TensorView weight = tensor(names_.ssd_conv);
    const Index columns = weight.shape[0];
    const std::vector<float> from =
        host_copy(backend_.make_vector({weight.dtype, {columns * K}, weight.bytes}));
    std::vector<float> turned(from.size());
    for (Index c = 0; c < columns; ++c) {
      for (Index k = 0; k < K; ++k)
        turned[static_cast<std::size_t>(k * columns + c)] = from[static_cast<std::size_t>(c * K + k)];
    }
    const Tensor made = backend_.allocate(K, columns);
    backend_.upload(turned, made);
    return {.weight = made,
            .bias = backend_.make_vector(find_(bias_name(layer_tensor_name(names_.ssd_conv, l_))))};
  }

  std::vector<float> host_copy(const Tensor& vector) const {
    std::vector<float> values(static_cast<std::size_t>(vector.rows() * vector.cols()));
    backend_.download(vector, values);
    return values;
  }

  Attention attention(PositionKind positions) const {
    Attention made{.positions = positions};
    if (names_.qkv.empty()) {
      made.qkv =
          linear({names_.q, names_.k, names_.v}, biases({names_.q, names_.k, names_.v}, config_.qkv_bias));
    } else {
      made.qkv = linear({names_.qkv}, biases({names_.qkv}, config_.qkv_bias));
    }
    if (config_.qk_norm) {
      made.query_norm = RmsNorm{backend_.make_vector(tensor(names_.q_norm)), config_.rms_epsilon};
      made.key_norm = RmsNorm{backend_.make_vector(tensor(names_.k_norm)), config_.rms_epsilon};
    }
    return made;
  }

  FeedForward feed_forward(FeedForwardKind kind) const {
    switch (kind) {
      case FeedForwardKind::kSwiglu:
        return SwigluMlp{linear({names_.gate, names_.up}), linear({names_.down})};
      case FeedForwardKind::kExperts:
        return experts(*config_.experts);
    }
    throw InternalError("a feed-forward of no kind");
  }

  TensorView tensor(std::string_view pattern) const { return find_(layer_tensor_name(pattern, l_)); }

  Experts experts(const ExpertShape& shape) const {
    Experts made{
        .router = linear({names_.router}), .bias = {}, .rule = shape.rule, .experts = {}, .shared = {}};
    if (shape.bias) {
      made.bias = host_copy(backend_.make_vector(tensor(names_.router_bias)));
    }
    for (Index e = 0; e < shape.count; ++e) {
      const auto one = [&](std::string_view pattern) { return find_(expert_tensor_name(pattern, l_, e)); };
      const TensorView gate_up[] = {one(names_.expert_gate), one(names_.expert_up)};
      const TensorView down[] = {one(names_.expert_down)};
      made.experts.push_back({backend_.make_linear(gate_up, {}), backend_.make_linear(down, {})});
    }
    if (shape.shared_F > 0) {
      made.shared = SwigluMlp{linear({names_.shared_gate, names_.shared_up}), linear({names_.shared_down})};
    }
    return made;
  }

  std::vector<TensorView> biases(std::initializer_list<std::string_view> patterns, bool present) const {
    std::vector<TensorView> found;
    for (const std::string_view pattern : patterns) {
      if (present) found.push_back(find_(bias_name(layer_tensor_name(pattern, l_))));
    }
    return found;
  }

  // Projections stacked into one.
  std::unique_ptr<Linear> linear(std::initializer_list<std::string_view> patterns,
                                 const std::vector<TensorView>& biases = {}) const {
    std::vector<TensorView> weights;
    for (const std::string_view pattern : patterns) weights.push_back(tensor(pattern));
    return backend_.make_linear(weights, biases);
  }

  const ModelConfig& config_;
  const WeightNames& names_ = config_.family->weights;
  Index l_;
  const TensorFinder& find_;
  Backend& backend_;
};

void Transformer::load(const TensorFinder& find) {
  const WeightNames& names = config_.family->weights;
  const TensorView embedding = find(names.embedding);
  embedding_ = backend_.make_table(embedding);
  for (Index l = 0; l < config_.L; ++l) layers_.push_back(PartLoader(config_, l, find, backend_).layer());
  final_norm_ =
      PartLoader::norm(config_.layer(config_.L - 1).norm, find(names.final_norm), config_, backend_);
  head_ = backend_.make_linear({{config_.tied ? embedding : find(names.head)}}, {});
  rope_ = make_rope_table(config_, backend_);
}

}  // namespace buoy
