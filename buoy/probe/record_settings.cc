#include "buoy/probe/record_settings.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

Index parse_number(std::string_view text, std::string_view what, std::string_view whole) {
  Index value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || value < 0) {
    fail_usage("{} \"{}\": \"{}\" is not a number from 0 on", what, whole, text);
  }
  return value;
}

// "0,3,5-7" → 0, 3, 5, 6, 7.
std::vector<Index> parse_list(std::string_view text, std::string_view what) {
  std::vector<Index> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, end - at);
    const std::size_t dash = item.find('-');
    const Index first = parse_number(item.substr(0, dash), what, text);
    const Index last = dash == item.npos ? first : parse_number(item.substr(dash + 1), what, text);
    constexpr Index kMost = 1'000'000;
    if (last < first || last > kMost)
      fail_usage("{} \"{}\": {} to {} is not a range up to {}", what, text, first, last, kMost);
    for (Index n = first; n <= last; ++n) numbers.push_back(n);
    at = end + 1;
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

}  // namespace

bool StepChoice::contains(Index step) const {
  return list.empty() ? step % every == 0 : std::ranges::binary_search(list, step);
}

StepChoice parse_steps(std::string_view text) {
  constexpr std::string_view kEvery = "every:";
  if (text == "all") return {};
  if (!text.starts_with(kEvery)) return {.list = parse_list(text, "steps")};
  const Index every = parse_number(text.substr(kEvery.size()), "steps", text);
  if (every < 1) fail_usage("steps \"{}\": expected every 1st step or fewer", text);
  return {.every = every, .list = {}};
}

std::vector<Index> parse_layers(std::string_view text, Index count) {
  if (text == "all") return {};
  std::vector<Index> layers = parse_list(text, "layers");
  if (layers.back() >= count) {
    fail_usage("layers \"{}\": the model has layers 0 to {}, there is no {}", text, count - 1, layers.back());
  }
  return layers;
}

void check_layers(std::span<const Index> layers, Index count) {
  for (const Index layer : layers) {
    if (layer < 0 || layer >= count)
      fail_usage("layers: the model has layers 0 to {}, there is no {}", count - 1, layer);
  }
}

std::vector<Index> chosen_layers(const RecordSettings& settings, Index L) {
  std::vector<Index> layers = settings.layers;
  if (layers.empty()) {
    layers.resize(static_cast<std::size_t>(L));
    std::iota(layers.begin(), layers.end(), Index{0});
  }
  check_layers(layers, L);
  return layers;
}

std::string_view name_of(Implicit implicit) {
  return implicit == Implicit::kEnergy ? "energy" : "magnitude";
}

Implicit parse_implicit(std::string_view text) {
  for (const Implicit implicit : {Implicit::kEnergy, Implicit::kMagnitude}) {
    if (text == name_of(implicit)) return implicit;
  }
  fail_usage("implicit is \"{}\", expected energy or magnitude", text);
}

Json to_json(const RecordSettings& settings) {
  Json json = {{"heads", settings.heads == HeadDetail::kPerHead ? "each" : "averaged"},
               {"received", settings.received},
               {"flow", settings.flow},
               {"answer_rows", settings.answer_rows},
               {"qk", settings.qk},
               {"keys", settings.keys}};
  if (settings.experts) json["experts"] = true;
  if (settings.steps.list.empty()) {
    json["steps_every"] = settings.steps.every;
  } else {
    json["steps"] = settings.steps.list;
  }
  if (settings.implicit != Implicit::kEnergy) json["implicit"] = name_of(settings.implicit);
  if (settings.layers.empty()) {
    json["layers"] = "all";
  } else {
    json["layers"] = settings.layers;
  }
  return json;
}

}  // namespace buoy
