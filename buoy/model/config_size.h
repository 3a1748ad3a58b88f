// Sizes of config.json, within what any model could have.
#pragma once

#include <optional>
#include <string_view>

#include "buoy/io/json.h"

namespace buoy {

// Far beyond any model, far below anything that could overflow a product of two.
inline constexpr Index kLargestSize = Index{1} << 28;

// At least 1, and no more than a model can have of what the key names. Throws Error otherwise, and where it
// is missing and there is no fallback.
Index read_size(const JsonObject& config, std::string_view key, std::optional<Index> fallback = std::nullopt);

}  // namespace buoy
