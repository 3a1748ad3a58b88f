#include "python/src/settings.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include <fmt/ranges.h>
#include <pybind11/stl.h>

#include "buoy/base/error.h"
#include "python/src/arrays.h"

namespace buoy::python {
namespace {

namespace py = pybind11;

template <typename T>
constexpr const char* kind_of() {
  if constexpr (std::is_same_v<T, bool>) return "True or False";
  if constexpr (std::is_same_v<T, double>) return "a number";
  if constexpr (std::is_same_v<T, std::string>) return "text";
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return "a list of texts";
  return "a whole number";
}

// Python counts True as 1 and 1.0 as no whole number; neither is meant here.
template <typename T>
T value_from(const std::string& name, py::handle given) {
  const bool is_bool = PyBool_Check(given.ptr()) != 0;
  if (is_bool == std::is_same_v<T, bool>) {
    try {
      return py::cast<T>(given);
    } catch (const py::cast_error&) {  // told below
    }
  }
  fail_usage("{} is {}, expected {}", name, std::string(py::repr(given)), kind_of<T>());
}

// What a number may be: from `low` on (or above it), up to `high`.
struct Range {
  double low, high = std::numeric_limits<double>::infinity();
  enum class Low { kIncluded, kExcluded } kind = Low::kIncluded;
};

void check_range(const std::string& name, double value, const Range& range) {
  const bool above = range.kind == Range::Low::kIncluded ? value >= range.low : value > range.low;
  if (above && value <= range.high) return;
  fail_usage(
      "{} is {}, expected {} {}{}", name, value, range.kind == Range::Low::kIncluded ? "at least" : "above",
      range.low,
      range.high < std::numeric_limits<double>::infinity() ? fmt::format(" and at most {}", range.high) : "");
}

constexpr Range kAtLeast0{0}, kAtLeast1{1}, kShare{0, 1, Range::Low::kExcluded},
    kAbove0{0, std::numeric_limits<double>::infinity(), Range::Low::kExcluded};

using Take = std::function<void(SamplerSettings&, const std::string&, py::handle)>;

template <typename T, typename Member>
Take number(Member SamplerSettings::*member, const Range& range) {
  return [=](SamplerSettings& settings, const std::string& name, py::handle given) {
    const T value = value_from<T>(name, given);
    check_range(name, static_cast<double>(value), range);
    settings.*member = value;
  };
}

Take flag(bool SamplerSettings::*member) {
  return [=](SamplerSettings& settings, const std::string& name, py::handle given) {
    settings.*member = value_from<bool>(name, given);
  };
}

const std::map<std::string, Take>& takers() {
  using S = SamplerSettings;
  static const std::map<std::string, Take> table = {
      {"gen_length", number<Index>(&S::gen_length, kAtLeast1)},
      {"temperature", number<double>(&S::temperature, kAtLeast0)},
      {"seed",
       [](S& s, const std::string& name, py::handle v) { s.seed = value_from<std::uint64_t>(name, v); }},
      {"steps", number<Index>(&S::steps, kAtLeast1)},
      {"block_length", number<Index>(&S::block_length, kAtLeast1)},
      {"cache", [](S& s, const std::string& name,
                   py::handle v) { s.cache = parse_cache_kind(value_from<std::string>(name, v)); }},
      {"cache_refresh", number<Index>(&S::cache_refresh, kAtLeast0)},
      {"sub_block_length", number<Index>(&S::sub_block_length, kAtLeast1)},
      {"remasking", [](S& s, const std::string& name,
                       py::handle v) { s.remasking = parse_remasking(value_from<std::string>(name, v)); }},
      {"confidence",
       [](S& s, const std::string& name, py::handle v) {
         s.confidence = parse_confidence_type(value_from<std::string>(name, v));
       }},
      {"cfg_scale", number<double>(&S::cfg_scale, kAtLeast0)},
      {"threshold", number<double>(&S::threshold, kShare)},
      {"logits_eos_inf", flag(&S::logits_eos_inf)},
      {"confidence_eos_eot_inf", flag(&S::confidence_eos_eot_inf)},
      {"alg", [](S& s, const std::string& name,
                 py::handle v) { s.alg = parse_dream_algorithm(value_from<std::string>(name, v)); }},
      {"alg_temp", number<double>(&S::alg_temp, kAtLeast0)},
      {"eps", number<double>(&S::eps, kAbove0)},
      {"top_p", number<double>(&S::top_p, kShare)},
      {"top_k", number<Index>(&S::top_k, kAtLeast0)},
      {"stop_ids", [](S& s, const std::string& name, py::handle v) { s.stop_ids = ids_from(v, name); }},
      {"ignore_eos", flag(&S::ignore_eos)},
  };
  return table;
}

}  // namespace

SamplerSettings sampler_from(const py::dict& given, const ModelConfig& config) {
  SamplerSettings settings;
  std::set<std::string> names;
  for (const auto& [key, value] : given) {
    const std::string name = py::str(key);
    const auto taker = takers().find(name);
    if (taker == takers().end()) {
      fail_usage("{} is no setting of the samplers, expected one of {}", name,
                 fmt::join(sampler_setting_names(), ", "));
    }
    if (value.is_none()) continue;
    taker->second(settings, name, value);
    names.insert(name);
  }
  const auto useless = useless_settings(settings, names, *config.family,
                                        [](std::string_view name) { return std::string(name); });
  if (!useless.empty()) fail_usage("{}", useless.begin()->second);
  check_settings(settings, config);
  return settings;
}

RecordSettings record_from(const py::dict& given, Index layers) {
  RecordSettings record;
  const std::map<std::string, bool*> kinds = {{"received", &record.received},  {"flow", &record.flow},
                                              {"answer", &record.answer_rows}, {"qk", &record.qk},
                                              {"keys", &record.keys},          {"experts", &record.experts}};
  for (const auto& [key, value] : given) {
    const std::string name = py::str(key);
    if (value.is_none()) continue;
    if (name == "record") {
      for (const auto& [kind, wanted] : kinds) *wanted = false;
      for (const std::string& kind : value_from<std::vector<std::string>>(name, value)) {
        const auto found = kinds.find(kind);
        if (found == kinds.end())
          fail_usage("record holds \"{}\", expected some of received, flow, answer, qk, keys, experts", kind);
        *found->second = true;
      }
    } else if (name == "record_steps") {
      record.steps = parse_steps(value_from<std::string>(name, value));
    } else if (name == "layers") {
      record.layers = parse_layers(value_from<std::string>(name, value), layers);
    } else if (name == "per_head") {
      record.heads = value_from<bool>(name, value) ? HeadDetail::kPerHead : HeadDetail::kAveraged;
    } else if (name == "implicit") {
      record.implicit = parse_implicit(value_from<std::string>(name, value));
    } else {
      fail_usage("{} is no setting of a trace, expected record, record_steps, layers, per_head or implicit",
                 name);
    }
  }
  return record;
}

}  // namespace buoy::python
