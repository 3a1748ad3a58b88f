#include "buoy/model/config_ssd.h"

#include "buoy/base/error.h"

namespace buoy {
namespace {

Index read_within(const JsonObject& config, std::string_view key, Index most) {
  const Index size = config.integer(key);
  if (size < 1 || size > most) fail("{}: \"{}\" is {}, expected 1 to {}", config.place(), key, size, most);
  return size;
}

std::vector<bool> read_ssd_layers(const JsonObject& config, std::string_view key, Index L) {
  const Json* list = config.find(key);
  if (list == nullptr) fail("{}: \"{}\" is missing", config.place(), key);
  if (!list->is_array()) fail("{}: \"{}\" is {}, expected a list", config.place(), key, kind_of(*list));
  if (std::ssize(*list) != L) {
    fail("{}: \"{}\" has {} names, expected one for each of the {} layers", config.place(), key, list->size(),
         L);
  }
  std::vector<bool> layers;
  for (const Json& kind : *list) {
    const std::string name = kind.is_string() ? kind.get<std::string>() : std::string();
    if (name != name_of(MixerKind::kSsd) && name != name_of(MixerKind::kAttention)) {
      fail("{}: \"{}\" holds {} for layer {}, expected \"{}\" or \"{}\"", config.place(), key, kind.dump(),
           layers.size(), name_of(MixerKind::kSsd), name_of(MixerKind::kAttention));
    }
    layers.push_back(name == name_of(MixerKind::kSsd));
  }
  return layers;
}

}  // namespace

SsdShape read_ssd(const JsonObject& config, const SsdKeys& keys, const ModelConfig& model) {
  constexpr Index kLargestState = 1024, kWidestKernel = 255, kWidestMlp = Index{1} << 28;
  SsdShape ssd{.n = read_within(config, keys.state, kLargestState),
               .K = read_within(config, keys.kernel, kWidestKernel),
               .F = read_within(config, keys.mlp, kWidestMlp),
               .layers = read_ssd_layers(config, keys.layers, model.L)};
  if (ssd.n % 2 != 0) fail("{}: \"{}\" is {}, expected an even number", config.place(), keys.state, ssd.n);
  if (ssd.K % 2 == 0) {
    fail("{}: \"{}\" is {}, expected an odd number: it is centred", config.place(), keys.kernel, ssd.K);
  }
  if (model.Hkv != model.H) {
    fail("{}: {} heads share {} key heads, expected as many: a state space mixer's heads share nothing",
         config.place(), model.H, model.Hkv);
  }
  return ssd;
}

}  // namespace buoy
