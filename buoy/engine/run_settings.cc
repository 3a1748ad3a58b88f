#include "buoy/engine/run_settings.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/base/version.h"
#include "buoy/io/hash.h"
#include "buoy/io/json.h"
#include "buoy/model/fingerprint.h"
#include "buoy/text/utf8.h"

namespace buoy {

namespace fs = std::filesystem;

std::vector<NamedItems> read_data(const DataSettings& settings, const Places& places,
                                  const WarningSink& warnings) {
  std::vector<fs::path> paths = settings.files;
  if (paths.empty()) paths = {bundled_data(places, settings.bundled)};
  std::vector<NamedItems> data;
  for (const fs::path& path : paths) {
    const std::string name = repair_utf8(path.stem().string()).text;  // it goes into JSON
    if (std::ranges::find(data, name, &NamedItems::name) != data.end()) {
      fail_usage("data: two datasets are called {}", name);
    }
    data.push_back(
        {name, path, read_dataset(path, {.format = settings.format, .limit = settings.limit}, warnings)});
  }
  return data;
}

std::string describe(std::span<const NamedItems> data) {
  std::vector<std::string> sets;
  for (const NamedItems& d : data) sets.push_back(fmt::format("{} ({})", d.name, d.items.size()));
  return fmt::format("{}", fmt::join(sets, ", "));
}

namespace {

std::string family_of(const RunSettings& settings, const std::string& model) {
  const auto told = settings.families.find(model);
  return told == settings.families.end() ? "" : told->second;
}

}  // namespace

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
    named.push_back(
        {found.name, found.directory, read_model_config(found.directory, family_of(settings, model))});
    if (std::ranges::count(named, found.name, &NamedModel::name) > 1) {
      fail_usage("model: two models are called {}", found.name);
    }
  }
  return named;
}

Json describe_run(const RunSettings& settings, std::span<const NamedItems> data) {
  const Index limit = settings.data.limit.value_or(0);
  Json json = {{"buoy", version()},
               {"format", settings.data.format ? name_of(*settings.data.format) : "auto"},
               {"limit", limit}};
  for (const NamedItems& d : data) json["data"][d.name] = fingerprint_file(d.path);
  for (const NamedModel& m : read_models(settings)) {
    const PromptTemplate prompt =
        PromptTemplate::find(choose_template(settings.prompt.prompt_template, m.directory));
    std::optional<ChatTemplate> chat;
    if (!prompt.raw()) chat = choose_chat_template(m.directory, settings.prompt.chat, settings.prompt.date);
    json["models"][m.name] = {{"weights", fingerprint_model(m.directory, Checkpoint::open(m.directory))},
                              {"tokenizer", fingerprint_tokenizer(m.directory)},
                              {"template", {{"name", prompt.name()}, {"hash", hash_of(prompt.source())}}},
                              {"chat_template", chat.has_value()},
                              {"sampler", to_json(settings.sampler, m.config)}};
    if (chat && chat->asks_for_date()) json["models"][m.name]["date"] = chat->date();
    if (m.config.told_family) json["models"][m.name]["family"] = m.config.family->key;
  }
  return json;
}

std::string hash_of(const Json& settings) {
  Hasher hasher;
  hasher.add(settings.dump());
  return hasher.hex();
}

}  // namespace buoy
