// The verdicts on the claims as a part of a page: an overview figure and a table with every number.
#pragma once

#include <filesystem>
#include <span>

#include "buoy/claims/claims.h"
#include "buoy/draw/forest.h"
#include "buoy/report/html.h"

namespace buoy {

// One row per result: (value − null) ÷ δ, turned so that to the right is as claimed; 0 is the null, 1 is δ.
Forest claims_figure(std::span<const ClaimResult> results);

// Writes claims.csv and figures/claims.* into `directory`, whose figures/ is made if need be, and returns the
// section with id "claims". `results` is not empty. Throws Error naming what cannot be written.
Section claims_section(std::span<const ClaimResult> results, const std::filesystem::path& directory);

}  // namespace buoy
