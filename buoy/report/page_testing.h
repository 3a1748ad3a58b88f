// Made-up results and a look into sections, for tests of pages.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "buoy/claims/claims.h"
#include "buoy/io/test_support.h"
#include "buoy/report/page_parts.h"

namespace buoy::testing_support {

inline Summary summary(double mean, double half, Index n = 20) {
  return {.n = n, .mean = mean, .lo = mean - half, .hi = mean + half};
}

inline const TableBlock& table_in(const Section& section, std::size_t which = 0) {
  for (const Block& block : section.blocks) {
    if (const auto* table = std::get_if<TableBlock>(&block)) {
      if (which-- == 0) return *table;
    }
  }
  throw std::runtime_error("no such table");
}

inline Index figures_in(const Section& section) {
  return std::ranges::count_if(section.blocks,
                               [](const Block& b) { return std::holds_alternative<FigureBlock>(b); });
}

// As claimed, the other way round, and not measured.
inline std::vector<ClaimResult> some_results() {
  std::vector<ClaimResult> results;
  for (const Claim& claim : claims()) {
    ClaimResult r{.claim = &claim, .model = "mdm"};
    const bool above = claim.direction == ClaimDirection::kAbove;
    if (claim.id == "floating-steps" || claim.id == "absorption-weaker") {
      r.n = 12;
      r.excess = (above ? 2 : -2) * claim.delta;
      r.lo = r.excess - claim.delta / 2;
      r.hi = r.excess + claim.delta / 2;
      r.value = r.excess + 1;
      r.null = 1;
      r.delta = claim.delta;
      r.strictest = "shuffled";
      r.nulls = {{.name = "stated", .n = 12, .null = 0.5},
                 {.name = "recency", .left_out = "was not run"},
                 {.name = "shuffled", .n = 12, .null = 1}};
      r.verdict = verdict_of(claim.direction, claim.delta, r.lo, r.hi);
    } else {
      r.note = "reason";
    }
    results.push_back(r);
  }
  return results;
}

inline FigureWriter writer_in(const TempDir& dir, FigureOptions options = {}) {
  return {dir / "out", std::move(options), {"mdm", "arm"}};
}

}  // namespace buoy::testing_support
