#include "buoy/claims/dispute.h"

#include <array>

namespace buoy {
namespace {

constexpr std::array<std::string_view, 3> kMoving = {"2601.07894", "2510.15731", "2602.17664"};
constexpr std::array<std::string_view, 1> kSinks = {"2510.15731"}, kHeads = {"2509.24014"},
                                          kSaliency = {"2508.02558"}, kLocal = {"2511.21338"},
                                          kFloating = {"2601.07894"};

constexpr std::array kDisputes = {
    Dispute{.question = "Do the keys that a head attends to most change from step to step?",
            .claim = "heads-stable",
            .as_claimed = "they stay",
            .otherwise = "they change",
            .claimers = kHeads,
            .others = kMoving},
    Dispute{.question = "Do the tokens that matter to all heads together change from step to step?",
            .claim = "saliency-stable",
            .as_claimed = "they stay",
            .otherwise = "they change",
            .claimers = kSaliency,
            .others = kSinks},
    Dispute{.question = "Is the attention of the answer local?",
            .claim = "locality",
            .as_claimed = "it prefers what is near",
            .otherwise = "it does not prefer what is near",
            .claimers = kLocal,
            .others = kFloating},
};

Settlement settlement_of(const Dispute& dispute, const ClaimResult& result) {
  Settlement out{.dispute = &dispute, .result = &result};
  if (result.nulls.empty()) return out;
  const NullResult& own = result.nulls.front();
  if (!why_no_ground(own).empty()) return out;
  const Verdict level = verdict_of(result.claim->direction, own.delta, own.lo, own.hi);
  if (level == Verdict::kCannotTell) return out;
  out.as_claimed = level == Verdict::kSupported;
  out.no_finding = *out.as_claimed && result.verdict != Verdict::kSupported;
  return out;
}

}  // namespace

std::span<const Dispute> disputes() {
  return kDisputes;
}

std::vector<Settlement> settle(std::span<const ClaimResult> results) {
  std::vector<Settlement> out;
  for (const Dispute& dispute : kDisputes) {
    for (const ClaimResult& result : results) {
      if (result.claim->id == dispute.claim) out.push_back(settlement_of(dispute, result));
    }
  }
  return out;
}

}  // namespace buoy
