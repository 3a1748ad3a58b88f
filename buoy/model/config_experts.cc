#include "buoy/model/config_experts.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/model/config_size.h"

namespace buoy {
namespace {

// Of all layers only every so many-th, and none that a list names.
void leave_out_layers(const JsonObject& config, const ExpertKeys& keys, std::vector<bool>& layers) {
  const Index step = read_size(config, keys.every, 1), L = std::ssize(layers);
  for (Index l = 0; l < L; ++l) {
    if ((l + 1) % step != 0) layers[static_cast<std::size_t>(l)] = false;
  }
  const Json* list = config.find(keys.dense);
  if (list == nullptr) return;
  if (!list->is_array()) {
    fail("{}: \"{}\" is {}, expected a list of layers", config.place(), keys.dense, kind_of(*list));
  }
  for (const Json& l : *list) {
    if (!l.is_number_integer() || l.get<Index>() < 0 || l.get<Index>() >= L) {
      fail("{}: \"{}\" holds {}, expected layers below {}", config.place(), keys.dense, l.dump(), L);
    }
    layers[l.get<std::size_t>()] = false;
  }
}

// Which layers have experts: those that a list marks, or all after the first few.
std::vector<bool> read_expert_layers(const JsonObject& config, const ExpertKeys& keys, Index L) {
  std::vector<bool> layers(static_cast<std::size_t>(L), true);
  if (!keys.first.empty()) {
    const Index dense = config.integer_or(keys.first, 0);
    if (dense < 0 || dense > L)
      fail("{}: \"{}\" is {}, expected 0 to {}", config.place(), keys.first, dense, L);
    std::fill_n(layers.begin(), dense, false);
  }
  if (!keys.every.empty()) leave_out_layers(config, keys, layers);
  const Json* list = keys.layers.empty() ? nullptr : config.find(keys.layers);
  if (list == nullptr) return layers;
  if (!list->is_array() || list->size() != layers.size()) {
    fail("{}: \"{}\" is {}, expected a list of {} numbers", config.place(), keys.layers, list->dump(), L);
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if ((*list)[l] != 0 && (*list)[l] != 1) {
      fail("{}: \"{}\" holds {} for layer {}, expected 0 or 1", config.place(), keys.layers,
           (*list)[l].dump(), l);
    }
    layers[l] = (*list)[l] == 1;
  }
  return layers;
}

// A size that may be 0, as it is where the key is not.
Index read_part(const JsonObject& config, std::string_view key) {
  const Index size = key.empty() ? 0 : config.integer_or(key, 0);
  if (size < 0 || size > kLargestSize)
    fail("{}: \"{}\" is {}, expected 0 to {}", config.place(), key, size, kLargestSize);
  return size;
}

// What experts' weights are multiplied by: 2.5, or 1.
float read_scale(const JsonObject& config, std::string_view key) {
  constexpr double kMost = 1e6;
  const double scale = config.number_or(key, 1.0);
  if (!(scale > 0 && scale <= kMost))
    fail("{}: \"{}\" is {}, expected above 0, at most {}", config.place(), key, scale, kMost);
  return static_cast<float>(scale);
}

}  // namespace

ExpertShape read_experts(const JsonObject& config, const ExpertKeys& keys, Index L) {
  const auto size_or = [&](std::string_view key, Index fallback) {
    return key.empty() ? fallback : config.integer_or(key, fallback);
  };
  ExpertShape experts{.count = read_size(config, keys.count), .F = read_size(config, keys.mlp)};
  experts.rule = {.kind = keys.router,
                  .active = read_size(config, keys.active),
                  .groups = size_or(keys.groups, 1),
                  .kept_groups = size_or(keys.kept_groups, 1)};
  // Their tensors are listed, three each, before there is a weight to compare them with.
  constexpr Index kMostExperts = Index{1} << 17;
  if (experts.count > kMostExperts / L) {
    fail("{}: \"{}\" is {}, expected at most {} in {} layers", config.place(), keys.count, experts.count,
         kMostExperts / L, L);
  }
  RouterRule& rule = experts.rule;
  if (rule.active > experts.count) {
    fail("{}: \"{}\" is {}, more than the {} experts", config.place(), keys.active, rule.active,
         experts.count);
  }
  if (rule.groups < 1 || experts.count % rule.groups != 0 || rule.kept_groups < 1 ||
      rule.kept_groups > rule.groups || rule.kept_groups * (experts.count / rule.groups) < rule.active) {
    fail("{}: {} experts in {} groups, of which {} are kept, cannot give {} to a token", config.place(),
         experts.count, rule.groups, rule.kept_groups, rule.active);
  }
  rule.normalize = rule.kind == RouterKind::kSigmoid
                       ? rule.active > 1
                       : !keys.normalize.empty() && config.boolean_or(keys.normalize, false);
  if (!keys.scale.empty()) rule.scale = read_scale(config, keys.scale);
  experts.shared_F =
      read_part(config, keys.shared_mlp) + read_part(config, keys.shared_count) * experts.F;  // below 2^57
  if (experts.shared_F > kLargestSize) {
    fail("{}: the shared expert's width is {}, expected at most {}", config.place(), experts.shared_F,
         kLargestSize);
  }
  experts.bias = keys.bias.empty() ? rule.kind == RouterKind::kSigmoid : config.boolean_or(keys.bias, false);
  experts.layers = read_expert_layers(config, keys, L);
  return experts;
}

}  // namespace buoy
