// Verdicts as CSV.
#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/claims/claims.h"

namespace buoy {
namespace {

std::string each_of(const ClaimResult& r) {
  std::string each;
  for (const ModelNumber& m : r.each) {
    if (m.n > 0) each += fmt::format("{}{}={:.9g}", each.empty() ? "" : ";", m.model, m.value);
  }
  return each;
}

std::string nulls_of(const ClaimResult& r) {
  std::string nulls;
  for (const NullResult& null : r.nulls) {
    if (null.left_out.empty())
      nulls += fmt::format("{}{}={:.9g}", nulls.empty() ? "" : ";", null.name, null.null);
  }
  return nulls;
}

// From models to verdict_over_models; empty where each kind is one model.
std::string over_models_of(const ClaimResult& r) {
  if (!r.over_models) return ",,,,,,";
  const ModelSpread& s = r.over_models->spread;
  const auto of_other = [&](std::string text) { return s.against > 0 ? text : ""; };
  return fmt::format("{},{},{:.9g},{},{:.9g},{:.9g},{}", s.models, of_other(fmt::to_string(s.against)),
                     s.deviation, of_other(fmt::format("{:.9g}", s.against_deviation)), s.lo, s.hi,
                     name_of(r.over_models->verdict));
}

std::string note_of(const ClaimResult& r) {
  if (!r.over_models || r.over_models->note.empty()) return r.note;
  return fmt::format("{}{}over models: {}", r.note, r.note.empty() ? "" : "; ", r.over_models->note);
}

}  // namespace

std::string claims_csv(std::span<const ClaimResult> results) {
  std::string out =
      "claim,paper,topic,model,against,n,questions,value,null,value_minus_null,lo,hi,direction,delta,unit,"
      "each,strictest_null,nulls,p,survives_holm,verdict,models,models_against,spread,spread_against,models_"
      "lo,"
      "models_hi,verdict_over_models,note\n";
  for (const ClaimResult& r : results) {
    const auto number = [&](double x) { return r.n > 0 ? fmt::format("{:.9g}", x) : ""; };
    // Without its prefix a reader of tables takes the number of a paper for a number, and rounds it.
    out += fmt::format("{},arXiv:{},{},{},{},{},{},{},{},{},{},{},{},{:.9g},{},{},", r.claim->id,
                       r.claim->paper, r.claim->topic, csv_field(r.model), csv_field(r.against), r.n,
                       r.questions, number(r.value), number(r.null), number(r.excess), number(r.lo),
                       number(r.hi), r.claim->direction == ClaimDirection::kAbove ? "above" : "below",
                       r.delta, csv_field(r.claim->unit), csv_field(each_of(r)));
    out += fmt::format("{},{},{},{},{},{},{}\n", r.strictest, nulls_of(r),
                       r.p ? fmt::format("{:.9g}", *r.p) : "", r.p ? (r.survives ? "1" : "0") : "",
                       name_of(r.verdict), over_models_of(r), csv_field(note_of(r)));
  }
  return out;
}

}  // namespace buoy
