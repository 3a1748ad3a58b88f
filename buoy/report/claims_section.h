// Shows what comes of the room claims: the verdicts in short, an overview figure and a table with every
// number.
#pragma once

#include <span>

#include "buoy/claims/claims.h"
#include "buoy/draw/forest.h"
#include "buoy/report/page_parts.h"

namespace buoy {

// One row per result: (value − null) ÷ δ, turned so that to the right is as claimed; 0 is the null, 1 is δ.
// A row has the colour of its masked model.
Forest claims_figure(std::span<const ClaimResult> results, const FigureWriter& colors);

// For the first screen: every verdict with the number of each model beside it; id "verdicts". `results` is
// not empty.
Section verdict_section(std::span<const ClaimResult> results, const FigureWriter& colors);

// Draws the figure "claims" and returns the section with every number, id "claims". `results` is not empty.
// Throws Error naming what cannot be written.
Section claims_section(std::span<const ClaimResult> results, const FigureWriter& writer);

}  // namespace buoy
