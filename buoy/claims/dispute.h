// Questions on which papers contradict each other, and what the statistic of one claim says to them.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "buoy/claims/claims.h"

namespace buoy {

// The two answers to a question: the one that the deciding claim gives, and the other.
struct Dispute {
  std::string_view question;                           // "Is attention local?"
  std::string_view claim;                              // id of the one that decides
  std::string_view as_claimed, otherwise;              // the answers: "it is local", "it is not"
  std::span<const std::string_view> claimers, others;  // arXiv numbers of those who say so
};

std::span<const Dispute> disputes();

struct Settlement {
  const Dispute* dispute = nullptr;
  // Of the deciding claim; points into what was settled. It says which model, and what was measured.
  const ClaimResult* result = nullptr;
  // Whether it is as claimed, by the claim's own null and δ alone: what is asked is how things are, not
  // whether training made them so. Nothing where that cannot be told or was not measured.
  std::optional<bool> as_claimed;
  // It is as claimed, but does not go beyond all other nulls: noise, or distance alone, would do as much.
  bool no_finding = false;
};

// One for each dispute and each result of its claim.
std::vector<Settlement> settle(std::span<const ClaimResult> results);

}  // namespace buoy
