// What stands in a run's file as JSON. The file may be a stranger's: every value is looked at before it is
// taken.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/analysis/measurement.h"
#include "buoy/corpus/dataset.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

// Each throws Error at `place`, naming `what` where one is given, for anything but what a run writes.
std::vector<Index> stored_integers(std::string_view text, std::string_view place, std::string_view what);
std::vector<std::string> stored_texts(std::string_view text, std::string_view place, std::string_view what);

// Measurements as JSON text and back.
std::string measurements_to_json(const Measurements& measurements);
Measurements measurements_from_json(std::string_view text, std::string_view place);

// Passages likewise.
Json passages_to_json(std::span<const QaPassage> passages);
std::vector<QaPassage> passages_from_json(const Json& json, std::string_view place);

// Settings: an object whose verb is text, and whose models and data go by name.
void check_stored_settings(const Json& settings, const std::string& place);

}  // namespace buoy
