#include "buoy/run/run_identity.h"

#include <fmt/format.h>

#include "buoy/io/hash.h"
#include "buoy/io/json.h"

namespace buoy {

std::string hash_of_item(const QaItem& item, Index number) {
  Hasher hasher;
  hasher.add(fmt::to_string(number));
  hasher.add(item.task);
  hasher.add(item.question);
  for (const std::string& answer : item.answers) hasher.add(answer);
  hasher.add("passages");  // an answer is no passage
  for (const QaPassage& passage : item.passages) {
    hasher.add(passage.title);
    hasher.add(passage.text);
    hasher.add(passage.gold ? "gold" : "");
    for (const TextSpan& span : passage.evidence) hasher.add(fmt::format("{}-{}", span.begin, span.end));
  }
  return hasher.hex();
}

std::string settings_difference(const Json& old_settings, const Json& new_settings) {
  const Json before = old_settings.flatten(), after = new_settings.flatten();
  std::string differences;
  const auto add = [&](const std::string& key, const std::string& was, const std::string& now) {
    differences += fmt::format("{}{} was {}, now {}", differences.empty() ? "" : "; ", key, was, now);
  };
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key)) {
      add(key, value.dump(), "absent");
    } else if (after[key] != value) {
      add(key, value.dump(), after[key].dump());
    }
  }
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) add(key, "absent", value.dump());
  }
  return differences;
}

namespace {

// Both sides of what is growing, reduced to the members that both have.
void keep_common(Json& before, Json& after, const std::string& growing) {
  Json old_common = Json::object(), new_common = Json::object();
  if (!before.contains(growing) || !after.contains(growing)) return;
  for (const auto& [name, value] : before[growing].items()) {
    if (!after[growing].contains(name)) continue;
    old_common[name] = value;
    new_common[name] = after[growing][name];
  }
  before[growing] = std::move(old_common);
  after[growing] = std::move(new_common);
}

}  // namespace

std::string growth_difference(const Json& old_settings, const Json& new_settings,
                              std::span<const std::string> growing) {
  Json before = old_settings, after = new_settings;
  for (const std::string& name : growing) keep_common(before, after, name);
  return settings_difference(before, after);
}

Json grown_settings(const Json& old_settings, const Json& new_settings,
                    std::span<const std::string> growing) {
  Json grown = old_settings;
  for (const std::string& name : growing) {
    if (!new_settings.contains(name)) continue;
    for (const auto& [member, value] : new_settings[name].items()) {
      if (!grown[name].contains(member)) grown[name][member] = value;
    }
  }
  return grown;
}

}  // namespace buoy
