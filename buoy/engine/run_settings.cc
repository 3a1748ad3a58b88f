#include "buoy/engine/run_settings.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "buoy/base/enum_names.h"
#include "buoy/base/error.h"
#include "buoy/io/hash.h"
#include "buoy/io/json.h"
#include "buoy/run/run_identity.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kTooLong = {"fail", "skip", "cut"};

// "nq=dev.jsonl" → nq and dev.jsonl; a file of that very name, and a path before "=", are no name.
std::pair<std::string, fs::path> named_file(const fs::path& given) {
  const std::string text = given.string();
  const std::size_t equals = text.find('=');
  const bool named = equals != text.npos && equals > 0 && text.find('/') > equals && !fs::exists(given);
  if (!named) return {given.stem().string(), given};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// A bar that moves by whole percents, from the first time there is something to show.
std::function<void(double)> show_reading(const std::string& name, RunObserver* observer) {
  if (observer == nullptr) return {};
  return [name, observer, shown = Index{-1}](double share) mutable {
    if (shown < 0) {
      observer->begin("reading " + name, 100);
      shown = 0;
    }
    const Index now = std::clamp<Index>(static_cast<Index>(100 * share), shown, 100);
    observer->advance(now - shown);
    shown = now;
  };
}

std::string family_of(const RunSettings& settings, const std::string& model) {
  const auto told = settings.families.find(model);
  return told == settings.families.end() ? "" : told->second;
}

const OwnSettings* own_of(const RunSettings& settings, const std::string& name) {
  const auto found = std::ranges::find(settings.own, name, &OwnSettings::model);
  return found == settings.own.end() ? nullptr : &*found;
}

}  // namespace

std::string_view name_of(TooLong too_long) {
  return kTooLong[static_cast<std::size_t>(too_long)];
}

TooLong parse_too_long(std::string_view name) {
  return enum_named<TooLong>(kTooLong, name, "too long");
}

std::vector<NamedItems> read_data(const DataSettings& settings, const Places& places,
                                  const WarningSink& warnings, RunObserver* observer) {
  std::vector<fs::path> paths = settings.files;
  if (paths.empty()) paths = {bundled_data(places, settings.bundled)};
  std::vector<NamedItems> data;
  for (const fs::path& given : paths) {
    const auto [said, path] = named_file(given);
    const std::string name = repair_utf8(said).text;  // it goes into JSON
    if (std::ranges::find(data, name, &NamedItems::name) != data.end()) {
      fail_usage("data: two datasets are called {}; NAME=FILE gives one another name", name);
    }
    const DatasetOptions reading{
        .format = settings.format, .limit = settings.limit, .progress = show_reading(name, observer)};
    data.push_back({name, path, read_dataset(path, reading, warnings)});
  }
  return data;
}

std::string describe(std::span<const NamedItems> data) {
  std::vector<std::string> sets;
  for (const NamedItems& d : data) sets.push_back(fmt::format("{} ({})", d.name, d.items.size()));
  return fmt::format("{}", fmt::join(sets, ", "));
}

const PromptSettings& RunSettings::prompt_of(const std::string& name) const {
  const OwnSettings* own_settings = own_of(*this, name);
  return own_settings != nullptr ? own_settings->prompt : prompt;
}

const SamplerSettings& RunSettings::sampler_of(const std::string& name) const {
  const OwnSettings* own_settings = own_of(*this, name);
  return own_settings != nullptr ? own_settings->sampler : sampler;
}

ModelSettings RunSettings::model(const std::string& name, int local_rank) const {
  ModelSettings made{.model = name, .device = device, .places = places};
  made.device.local_rank = local_rank;
  made.family = family_of(*this, name);
  return made;
}

std::vector<NamedModel> read_models(const RunSettings& settings) {
  std::vector<NamedModel> named;
  for (const std::string& model : settings.models) {
    const FoundModel found = find_model(model, settings.places);
    const ModelConfig config = read_model_config(found.directory, family_of(settings, model));
    const CacheKind cache = cache_of(settings.sampler_of(model), config);
    // What is approximate says so wherever its model is named.
    const std::string note =
        cache == CacheKind::kNone ? "" : fmt::format(" ({} cache, approximate)", name_of(cache));
    named.push_back({found.name + note, model, found.directory, config});
    if (std::ranges::count(named, named.back().name, &NamedModel::name) > 1) {
      fail_usage("model: two models are called {}", found.name);
    }
  }
  return named;
}

void check_own_settings(const RunSettings& settings) {
  for (const NamedModel& m : read_models(settings)) {
    const OwnSettings* own = own_of(settings, m.given);
    if (own == nullptr) continue;
    const auto useless = useless_settings(own->sampler, own->given, *m.config.family,
                                          [](std::string_view name) { return std::string(name); });
    if (!useless.empty()) fail_usage("{}: {}", m.given, useless.begin()->second);
    try {  // the samplers' own messages do not know whose settings they are
      check_settings(own->sampler, m.config);
    } catch (const UsageError& e) {
      fail_usage("{}: {}", m.given, e.what());
    }
  }
}

std::vector<RunItem> identify_items(std::span<const NamedItems> data) {
  std::vector<RunItem> items;
  for (const NamedItems& set : data) {
    for (std::size_t i = 0; i < set.items.size(); ++i) {
      items.push_back({set.name, set.items[i].id, hash_of_item(set.items[i], static_cast<Index>(i))});
    }
  }
  return items;
}

Json describe_data(std::span<const NamedItems> data) {
  Json json = Json::object();
  for (const NamedItems& set : data) {
    Hasher hasher;
    for (const RunItem& item : identify_items({&set, 1})) {
      hasher.add(item.sample);
      hasher.add(item.hash);
    }
    json[set.name] = {{"items", set.items.size()}, {"hash", hasher.hex()}};
  }
  return json;
}

std::string hash_of(const Json& settings) {
  Hasher hasher;
  hasher.add(settings.dump());
  return hasher.hex();
}

}  // namespace buoy
