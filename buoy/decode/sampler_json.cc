#include "buoy/decode/sampler_json.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

using AllSettings = SamplerSettings;
using TakeSetting = void (*)(AllSettings& settings, const JsonObject& json, std::string_view name);

template <auto member>
void take_integer(AllSettings& s, const JsonObject& json, std::string_view name) {
  s.*member = json.integer(name);
}
template <auto member>
void take_number(AllSettings& s, const JsonObject& json, std::string_view name) {
  s.*member = json.number(name);
}
template <auto member>
void take_flag(AllSettings& s, const JsonObject& json, std::string_view name) {
  s.*member = json.boolean(name);
}
template <auto member, auto parse, auto names>
void take_name(AllSettings& s, const JsonObject& json, std::string_view name) {
  const std::string value = json.string(name);
  const std::vector<std::string> known = names();
  if (std::ranges::find(known, value) == known.end()) {
    fail_usage("{}: \"{}\" is {}, expected one of {}", json.place(), name, quote(value),
               fmt::join(known, ", "));
  }
  s.*member = parse(value);
}

void take_seed(AllSettings& s, const JsonObject& json, std::string_view name) {
  const Index seed = json.integer(name);
  if (seed < 0) fail_usage("{}: \"{}\" is {}, expected at least 0", json.place(), name, seed);
  s.seed = static_cast<std::uint64_t>(seed);
}

void take_stop_ids(AllSettings& s, const JsonObject& json, std::string_view name) {
  const Json* list = json.find(name);
  if (!list->is_array()) fail("{}: \"{}\" is {}, expected a list", json.place(), name, kind_of(*list));
  s.stop_ids.clear();
  for (const Json& id : *list) {
    if (!id.is_number_integer()) fail("{}: \"{}\" holds {}, expected ids", json.place(), name, kind_of(id));
    s.stop_ids.push_back(static_cast<TokenId>(std::clamp<Index>(id.get<Index>(), -1, 1 << 30)));
  }
}

const std::map<std::string_view, TakeSetting>& setting_takers() {
  static const std::map<std::string_view, TakeSetting> table = {
      {"gen_length", take_integer<&AllSettings::gen_length>},
      {"temperature", take_number<&AllSettings::temperature>},
      {"seed", take_seed},
      {"steps", take_integer<&AllSettings::steps>},
      {"block_length", take_integer<&AllSettings::block_length>},
      {"cache", take_name<&AllSettings::cache, parse_cache_kind, cache_kind_names>},
      {"cache_refresh", take_integer<&AllSettings::cache_refresh>},
      {"sub_block_length", take_integer<&AllSettings::sub_block_length>},
      {"remasking", take_name<&AllSettings::remasking, parse_remasking, remasking_names>},
      {"confidence", take_name<&AllSettings::confidence, parse_confidence_type, confidence_type_names>},
      {"cfg_scale", take_number<&AllSettings::cfg_scale>},
      {"threshold", take_number<&AllSettings::threshold>},
      {"logits_eos_inf", take_flag<&AllSettings::logits_eos_inf>},
      {"confidence_eos_eot_inf", take_flag<&AllSettings::confidence_eos_eot_inf>},
      {"alg", take_name<&AllSettings::alg, parse_dream_algorithm, dream_algorithm_names>},
      {"alg_temp", take_number<&AllSettings::alg_temp>},
      {"eps", take_number<&AllSettings::eps>},
      {"top_p", take_number<&AllSettings::top_p>},
      {"top_k", take_integer<&AllSettings::top_k>},
      {"stop_ids", take_stop_ids},
      {"ignore_eos", take_flag<&AllSettings::ignore_eos>},
  };
  return table;
}

}  // namespace

NamedSettings named_settings(const Json& json, const std::string& place, SamplerSettings settings) {
  const JsonObject object(json, place);
  NamedSettings made{.settings = std::move(settings), .given = {}};
  for (const auto& [name, value] : json.items()) {
    const auto taker = setting_takers().find(name);
    if (taker == setting_takers().end()) {
      fail_usage("{}: {} is no setting of the samplers, expected one of {}", place, quote(name),
                 fmt::join(sampler_setting_names(), ", "));
    }
    if (value.is_null()) continue;
    taker->second(made.settings, object, name);
    made.given.insert(name);
  }
  return made;
}

SamplerSettings sampler_from_json(const Json& json, const std::string& place, const ModelConfig& config,
                                  SamplerSettings settings, Useless useless) {
  NamedSettings named = named_settings(json, place, std::move(settings));
  const auto idle = useless_settings(named.settings, named.given, *config.family,
                                     [](std::string_view name) { return std::string(name); });
  if (useless == Useless::kRefuse && !idle.empty()) fail_usage("{}", idle.begin()->second);
  check_settings(named.settings, config);
  return std::move(named.settings);
}

SamplerSettings recorded_sampler(const Json& json, const std::string& place, const ModelConfig& config) {
  const JsonObject object(json, place);
  SamplerSettings settings;
  for (const auto& [name, value] : json.items()) {
    const auto taker = setting_takers().find(name);
    if (taker != setting_takers().end() && !value.is_null()) taker->second(settings, object, name);
  }
  settings.ignore_eos = object.has("stop_ids");  // the record's are all there were
  if (object.has("block_steps")) {
    const Index B = object.integer("block_length");
    if (B < 1) fail("{}: \"block_length\" is {}, expected at least 1", place, B);
    settings.steps = object.integer("block_steps") * std::max<Index>(1, (settings.gen_length + B - 1) / B);
  }
  check_settings(settings, config);
  return settings;
}

}  // namespace buoy
