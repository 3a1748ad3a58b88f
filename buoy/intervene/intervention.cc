#include "buoy/intervene/intervention.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/ranges.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

const Intervention& find_intervention(std::string_view name) {
  const auto table = interventions();
  const auto found = std::ranges::find(table, name, &Intervention::name);
  if (found != table.end()) return *found;
  std::vector<std::string_view> names;
  for (const Intervention& i : table) names.push_back(i.name);
  fail_usage("intervention \"{}\": expected one of {}", name, fmt::join(names, ", "));
}

InterventionSettings with_parameter(const Intervention& kind, std::string_view value) {
  InterventionSettings settings{.kind = &kind, .parameter = std::string(value)};
  switch (kind.parameter) {
    case InterventionParameter::kNone:
      if (!value.empty()) fail_usage("intervention {}: takes no \"={}\"", kind.name, value);
      break;
    case InterventionParameter::kCount: {
      const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), settings.count);
      if (error != std::errc{} || rest != value.data() + value.size() || settings.count < 0) {
        fail_usage("intervention {}: expected {}=N with a number from 0 on, got \"{}\"", kind.name, kind.name,
                   value);
      }
      break;
    }
    case InterventionParameter::kAcross:
      if (value != "steps" && value != "layers") {
        fail_usage("intervention {}: expected {}=steps or {}=layers, got \"{}\"", kind.name, kind.name,
                   kind.name, value);
      }
      break;
  }
  return settings;
}

void check_numbers(const std::vector<Index>& numbers, Index count, const char* what, const std::string& name,
                   const std::string& model) {
  for (const Index n : numbers) {
    if (n < 0 || n >= count) {
      fail_usage("{}: acts on {} {}, but {} has {} 0 to {}", name, what, n, model, what, count - 1);
    }
  }
}

bool holds(const std::vector<Index>& list, Index number) {
  return list.empty() || std::ranges::find(list, number) != list.end();
}

}  // namespace

bool InterventionSite::has_layer(Index layer) const {
  return holds(layers, layer);
}

bool InterventionSite::has_head(Index head) const {
  return holds(heads, head);
}

std::string InterventionSettings::name() const {
  return parameter.empty() ? std::string(kind->name) : fmt::format("{}={}", kind->name, parameter);
}

std::vector<KeyPlace> key_places(const RegionMap& prompt, Index N) {
  const Index passages = std::ranges::count(prompt.regions, RegionKind::kDocument, &Region::kind);
  std::vector<KeyPlace> places(static_cast<std::size_t>(N));
  for (Index j = 0; j < std::min(N, std::ssize(prompt.of)); ++j) {
    const Region& region = prompt.regions[static_cast<std::size_t>(prompt.of[static_cast<std::size_t>(j)])];
    KeyPlace& place = places[static_cast<std::size_t>(j)];
    place.kind = region.kind;
    if (region.kind == RegionKind::kDocument) place.third = 3 * (region.document - 1) / passages;
  }
  return places;
}

std::vector<double> LayerView::mean_received() const {
  std::vector<double> mean(static_cast<std::size_t>(N), 0.0);
  for (const Index h : heads) {
    for (Index j = 0; j < N; ++j) {
      mean[static_cast<std::size_t>(j)] += double{received[static_cast<std::size_t>(h * N + j)]};
    }
  }
  for (double& m : mean) m /= static_cast<double>(heads.size());
  return mean;
}

void LayerChange::hide(std::span<const Index> heads, Index key) {
  for (const Index h : heads) {
    key_bias[static_cast<std::size_t>(h * N + key)] = -std::numeric_limits<float>::infinity();
  }
}

bool LayerChange::hides(std::span<const Index> heads, Index key) const {
  return std::ranges::all_of(heads, [&](Index h) {
    return key_bias[static_cast<std::size_t>(h * N + key)] == -std::numeric_limits<float>::infinity();
  });
}

void LayerChange::add_bias(std::span<const Index> heads, Index key, double bias) {
  for (const Index h : heads) key_bias[static_cast<std::size_t>(h * N + key)] += static_cast<float>(bias);
}

std::vector<InterventionSettings> parse_intervention(std::string_view text) {
  const std::size_t equals = text.find('=');
  const Intervention& kind = find_intervention(text.substr(0, equals));
  if (equals == std::string_view::npos) return {with_parameter(kind, "")};
  std::vector<InterventionSettings> all;
  for (std::string_view rest = text.substr(equals + 1);;) {
    const std::size_t comma = rest.find(',');
    all.push_back(with_parameter(kind, rest.substr(0, comma)));
    if (comma == std::string_view::npos) return all;
    rest.remove_prefix(comma + 1);
  }
}

std::optional<InterventionSettings> control_of(const InterventionSettings& settings) {
  if (settings.kind->control.empty()) return std::nullopt;
  const bool complete = settings.kind->control.find('=') != std::string_view::npos;
  const std::string text = complete ? std::string(settings.kind->control)
                                    : fmt::format("{}={}", settings.kind->control, settings.parameter);
  const InterventionSettings parsed = parse_intervention(text).front();
  InterventionSettings control = settings;
  control.kind = parsed.kind;
  control.parameter = parsed.parameter;
  control.count = parsed.count;
  return control;
}

std::optional<Index> unfit_layer(const InterventionSettings& settings, const ModelConfig& config) {
  if (settings.kind->correct == nullptr) return std::nullopt;
  for (Index l = 0; l < config.L; ++l) {
    if (settings.site.has_layer(l) && config.layer(l).mixer == MixerKind::kSsd) return l;
  }
  return std::nullopt;
}

void check_intervention(const InterventionSettings& settings, const ModelConfig& config,
                        const std::string& model) {
  check_numbers(settings.site.layers, config.L, "layers", settings.name(), model);
  check_numbers(settings.site.heads, config.H, "heads", settings.name(), model);
  if (const auto layer = unfit_layer(settings, config)) {
    fail_usage(
        "{}: layer {} of {} has a state space mixer: a key there can be hidden, but there is no softmax in "
        "which a "
        "bias could press or raise it (the site may name layers with attention: --at-layers)",
        settings.name(), *layer, model);
  }
  if (!settings.kind->needs_ranking) return;
  const Index layers = settings.site.layers.empty() ? config.L : std::ssize(settings.site.layers);
  const Index heads = settings.site.heads.empty() ? config.H : std::ssize(settings.site.heads);
  if (settings.count > layers * heads) {
    fail_usage("{}: {} has only {} heads there", settings.name(), model, layers * heads);
  }
}

}  // namespace buoy
