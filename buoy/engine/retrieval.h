// Passages from a collection for the questions of a run: found once, stored, the same for all models and
// ranks.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "buoy/engine/run_settings.h"
#include "buoy/run/eval.h"

namespace buoy {

// By dataset and item.
using Retrieved = std::map<std::pair<std::string, std::string>, std::vector<QaPassage>>;

// What the store has, and for items that it does not have what the collection gives now, which is stored
// before it returns. Throws Error when the collection has changed since the run began to retrieve and there
// are items to retrieve for.
Retrieved retrieve_once(RunStore& store, const Condition& condition, const std::filesystem::path& collection,
                        const std::vector<NamedItems>& data);

// From rank to rank.
Json to_json(const Retrieved& retrieved);
Retrieved retrieved_from_json(const Json& json);

}  // namespace buoy
