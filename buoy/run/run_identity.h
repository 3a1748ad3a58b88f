// What decides the answers of a run, by content, and whether a run that was begun may go on with it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "buoy/corpus/dataset.h"
#include "buoy/io/json.h"

namespace buoy {

// An item of a run's data: its words, its answers, its passages and its place, as one hash.
struct RunItem {
  std::string data, sample, hash;
};

struct RunIdentity {
  Json settings;                          // compared field by field
  std::vector<std::string> growing = {};  // members of `settings`, objects, that may gain members: "models"
  std::vector<RunItem> items = {};        // more may come; none may change
};

// `number` is the place in the dataset, which names the stream of random draws.
std::string hash_of_item(const QaItem& item, Index number);

// "/sampler/steps was 16, now 32; …": what differs between two sets of settings. Empty: nothing.
std::string settings_difference(const Json& old_settings, const Json& new_settings);

// The same for a run that may grow: members that only one side has of what is growing are no difference.
std::string growth_difference(const Json& old_settings, const Json& new_settings,
                              std::span<const std::string> growing);

// The old settings with the members that came.
Json grown_settings(const Json& old_settings, const Json& new_settings, std::span<const std::string> growing);

}  // namespace buoy
