#include "buoy/claims/over_models.h"

#include <algorithm>

#include <fmt/format.h>

#include "buoy/analysis/student.h"

namespace buoy {
namespace {

// What the interval over models goes beyond δ by, at its near end.
double margin_over_models(const NullResult& null, ClaimDirection direction) {
  return (direction == ClaimDirection::kAbove ? null.over_models->lo : -null.over_models->hi) - null.delta;
}

}  // namespace

std::optional<ModelSpread> spread_of(const Contrast& contrast) {
  const Index models = std::ssize(contrast.models), against = std::ssize(contrast.against);
  if (models < 2 && against < 2) return std::nullopt;
  const TInterval t = t_interval(contrast.models, contrast.against);
  return ModelSpread{.models = models,
                     .against = against,
                     .deviation = deviation_of(contrast.models),
                     .against_deviation = deviation_of(contrast.against),
                     .lo = t.interval.lo,
                     .hi = t.interval.hi,
                     .error = t.error};
}

std::optional<OverModels> decide_over_models(const ClaimResult& r, const std::string& no_room) {
  const NullResult* strictest = nullptr;
  for (const NullResult& null : r.nulls) {
    if (!null.left_out.empty() || !null.over_models) continue;
    if (strictest == nullptr ||
        margin_over_models(null, r.claim->direction) < margin_over_models(*strictest, r.claim->direction))
      strictest = &null;
  }
  if (strictest == nullptr) return std::nullopt;
  OverModels out{.strictest = strictest->name,
                 .excess = strictest->excess,
                 .delta = strictest->delta,
                 .spread = *strictest->over_models,
                 .note = strictest->questions < kFewestQuestions ? why_no_ground(*strictest) : no_room};
  if (out.note.empty() && out.spread.error <= kNoSpread * out.delta)
    out.note = "all models say the same: no spread to judge by";
  if (!out.note.empty()) return out;
  out.verdict = verdict_of(r.claim->direction, out.delta, out.spread.lo, out.spread.hi);
  const bool one = !r.against.empty() && std::min(out.spread.models, out.spread.against) == 1;
  if (one) out.note = fmt::format("{} is one model", out.spread.models == 1 ? r.model : r.against);
  return out;
}

std::string verdict_words(const ClaimResult& result) {
  const std::string over_questions(name_of(result.verdict));
  if (!result.over_models) return over_questions;
  const ModelSpread& spread = result.over_models->spread;
  const std::string models = spread.against == 0
                                 ? fmt::format("{} models", spread.models)
                                 : fmt::format("{} and {} models", spread.models, spread.against);
  if (result.over_models->verdict == result.verdict)
    return fmt::format("{} over questions and over {}", over_questions, models);
  return fmt::format("{} over questions, {} over {}", over_questions, name_of(result.over_models->verdict),
                     models);
}

}  // namespace buoy
