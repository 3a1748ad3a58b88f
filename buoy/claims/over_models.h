// What a contrast comes to over the models of a kind, beside what it comes to over questions.
#pragma once

#include <optional>
#include <string>

#include "buoy/claims/claims.h"
#include "buoy/claims/contrast.h"

namespace buoy {

// What float32 leaves of equal numbers is no spread: so much of δ.
inline constexpr double kNoSpread = 1e-6;

// Nothing where each side is one model.
std::optional<ModelSpread> spread_of(const Contrast& contrast);

// From r.nulls; nothing where each kind is one model. `no_room`: why no interval of these samples is a ground
// for a verdict; empty where one may be.
std::optional<OverModels> decide_over_models(const ClaimResult& r, const std::string& no_room);

}  // namespace buoy
