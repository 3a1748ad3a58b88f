// The rows of the table of claims, in two parts; claims() in claims.h joins them.
#pragma once

#include <array>
#include <span>

#include "buoy/claims/claims.h"

namespace buoy {

// What several rows share.
inline constexpr std::string_view kUniformNull = "uniform attention";
inline constexpr std::string_view kAlike = "both models alike: 0";
inline constexpr std::string_view kTwentieth = "one question in twenty";

inline constexpr std::array kShuffledNull = {NullKind::kShuffled};
inline constexpr std::array kFixedNulls = {NullKind::kRecency, NullKind::kShuffled};
inline constexpr std::array kStepNulls = {NullKind::kFrozen, NullKind::kRecency, NullKind::kShuffled};

// Of the paper on attention floating, arXiv 2601.07894.
std::span<const Claim> floating_claims();

// Of other papers on attention in diffusion language models.
std::span<const Claim> field_claims();

}  // namespace buoy
