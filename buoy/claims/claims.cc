#include "buoy/claims/claims.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/base/error.h"
#include "buoy/claims/claim_number.h"

namespace buoy {
namespace {

constexpr const char* kValue = "value";
constexpr const char* kExcess = "excess";  // value − null, sample by sample

const SampleTable* table_of(const Evidence& evidence, ClaimSource source) {
  const std::array<const SampleTable*, 5> tables = {evidence.analyses, evidence.by_gold, evidence.answers,
                                                    evidence.stress, evidence.interventions};
  return tables[static_cast<std::size_t>(source)];
}

std::string_view missing(ClaimSource source) {
  constexpr std::array<std::string_view, 5> kWhy = {
      "attention was not analysed", "no sample has both gold and other passages",
      "answers with and without passages were not compared", "the models were not put under stress",
      "attention was not intervened in"};
  return kWhy[static_cast<std::size_t>(source)];
}

// The part under which a side's conditions are noted as one prompt: a stressor's name, or the condition's.
std::string_view changed_part(const ClaimSide& side) {
  std::string_view part = side.part;
  if (side.number == SampleNumber::kRange && part.ends_with('=')) part.remove_suffix(1);
  return part;
}

std::set<SampleKey> same_prompts(const SampleTable& table, const ClaimSide& side) {
  std::set<SampleKey> keys;
  const auto column =
      table.columns().find({.quantity = "same_prompt", .part = std::string(changed_part(side))});
  if (column == table.columns().end()) return keys;
  for (const auto sample : column->second.samples)
    keys.insert(table.samples()[static_cast<std::size_t>(sample)]);
  return keys;
}

// Adds the numbers of one side of a claim for one model, as quantity `name`.
void add_side(SampleTable& to, const SampleTable& from, const std::string& model, const Claim& claim,
              const ClaimSide& side, const char* name) {
  const std::set<Index> layers = recorded_layers(from, model);
  const std::set<SampleKey> unchanged = same_prompts(from, side);
  for (const SampleRows& sample : rows_of(from, model, side.quantity)) {
    if (unchanged.contains(sample.key)) continue;
    std::optional<ClaimNumber> number = number_of(side, sample, layers);
    if (!number || (claim.null == ClaimNull::kUniform && !number->null)) continue;
    const double null = number->null.value_or(0);
    const Measurement value{
        .quantity = name, .part = kValue, .value = number->value, .weight = number->weight};
    const Measurement excess{.quantity = name,
                             .part = kExcess,
                             .value = number->value - null * number->weight,
                             .weight = number->weight};
    to.add(sample.key, std::array{value, excess});
  }
}

struct Contrast {
  Estimate value, excess;
};

template <typename Estimator>
std::optional<Contrast> contrast_by(const Estimator& estimator) {
  auto value = estimator(kValue), excess = estimator(kExcess);
  if (!value || !excess) return std::nullopt;
  return Contrast{.value = std::move(*value), .excess = std::move(*excess)};
}

std::optional<Contrast> contrast_within(const SampleTable& from, const Claim& claim,
                                        const std::string& model) {
  SampleTable table;
  add_side(table, from, model, claim, claim.side, "side");
  if (claim.minus != nullptr) add_side(table, from, model, claim, *claim.minus, "minus");
  return contrast_by([&](const char* part) {
    const ColumnKey side{.quantity = "side", .part = part}, minus{.quantity = "minus", .part = part};
    return claim.minus == nullptr ? estimate(table, {.model = model}, side)
                                  : difference_estimate(table, {.model = model}, side, minus);
  });
}

std::optional<Contrast> contrast_between(const SampleTable& from, const Claim& claim,
                                         const std::string& model, const std::string& against) {
  check(claim.minus == nullptr, "a comparison of models has one side");
  SampleTable table;
  add_side(table, from, model, claim, claim.side, "side");
  add_side(table, from, against, claim, claim.side, "side");
  return contrast_by([&](const char* part) {
    return paired_estimate(table, {.a = model, .b = against, .data = {}, .task = {}},
                           {.quantity = "side", .part = part});
  });
}

std::optional<double> mean_of(const SampleTable& table, const SampleTable::Column& column,
                              const std::string& model) {
  return ratio_of(dense(column, table.select({.model = model})).ratios());
}

// Whether exact match leaves both models no room in any condition that the claim looks at: both near 0 or
// both near 100.
bool without_room(const SampleTable& table, const Claim& claim, const ClaimResult& r) {
  const ClaimSide& side = claim.side;
  const bool levels = side.number == SampleNumber::kRange || side.quantity == "em_slope";
  const std::string prefix = fmt::format("{}{}", changed_part(side), levels ? "=" : "");
  bool any = false;
  for (const auto& [key, column] : table.columns()) {
    if (key.quantity != "em" || !(levels ? key.part.starts_with(prefix) : key.part == prefix)) continue;
    const auto a = mean_of(table, column, r.model), b = mean_of(table, column, r.against);
    if (!a || !b) continue;
    any = true;
    const bool floor = *a <= kNoRoom && *b <= kNoRoom, ceiling = *a >= 100 - kNoRoom && *b >= 100 - kNoRoom;
    if (!floor && !ceiling) return false;
  }
  return any;
}

std::string why_not_measured(const SampleTable& table, const Claim& claim) {
  const bool compares = claim.scope == ClaimScope::kAgainstCausal;
  if (!same_prompts(table, claim.side).empty()) {
    return fmt::format("no prompt changes with {}", changed_part(claim.side));
  }
  if (claim.side.number == SampleNumber::kDifference) {
    return fmt::format("no question was asked under both \"{}\" and \"{}\"", claim.side.part,
                       claim.side.less);
  }
  return fmt::format("no sample {} what it takes ({})", compares ? "of both models has" : "has",
                     claim.side.quantity);
}

// Why the interval is no ground for a verdict; empty where it is one.
std::string why_cannot_tell(const SampleTable& table, const Claim& claim, const ClaimResult& r,
                            double standard_error) {
  if (r.questions < kFewestQuestions) {
    return fmt::format("{} question{}, {} are needed", r.questions, r.questions == 1 ? "" : "s",
                       kFewestQuestions);
  }
  const bool of_answers = claim.source == ClaimSource::kAnswers || claim.source == ClaimSource::kStress;
  if (of_answers && !r.against.empty() && without_room(table, claim, r)) {
    return fmt::format(
        "exact match of both models is within {} points of 0 or 100 %: no room for a difference", kNoRoom);
  }
  // What rounding leaves is no spread.
  if (standard_error <= 1e-9 * claim.delta) return "all questions say the same: no spread to judge by";
  return "";
}

std::vector<ModelNumber> numbers_of(const Evidence& evidence, const Claim& claim) {
  std::vector<ModelNumber> out;
  const SampleTable* table = table_of(evidence, claim.source);
  for (const EvidenceModel& model : evidence.models) {
    ModelNumber number{.model = model.name};
    if (const auto contrast = table == nullptr ? std::nullopt : contrast_within(*table, claim, model.name)) {
      number.n = contrast->value.n;
      number.value = contrast->value.mean;
      number.null = contrast->value.mean - contrast->excess.mean;
    }
    out.push_back(std::move(number));
  }
  return out;
}

ClaimResult judge_one(const Evidence& evidence, const Claim& claim, const std::string& model,
                      const std::string& against) {
  ClaimResult out{.claim = &claim, .model = model, .against = against};
  const bool compares = claim.scope == ClaimScope::kAgainstCausal;
  const SampleTable* table = table_of(evidence, claim.source);
  if (model.empty() || (compares && against.empty())) {
    out.note = model.empty() ? "no masked diffusion model" : "no autoregressive model to compare with";
    return out;
  }
  if (table == nullptr) {
    out.note = missing(claim.source);
    return out;
  }
  const auto contrast =
      compares ? contrast_between(*table, claim, model, against) : contrast_within(*table, claim, model);
  if (!contrast) {
    out.note = why_not_measured(*table, claim);
    return out;
  }
  const Studentised& bootstrap = contrast->excess.bootstrap;
  const Interval interval = bootstrap.interval();
  out.n = contrast->excess.n;
  out.questions = contrast->excess.questions;
  out.value = contrast->value.mean;
  out.excess = contrast->excess.mean;
  out.null = out.value - out.excess;
  out.lo = interval.lo;
  out.hi = interval.hi;
  out.note = why_cannot_tell(*table, claim, out, bootstrap.standard_error());
  out.verdict =
      out.note.empty() ? verdict_of(claim.direction, claim.delta, out.lo, out.hi) : Verdict::kCannotTell;
  if (out.note.empty()) {
    out.p = bootstrap.p(claim.direction == ClaimDirection::kAbove ? claim.delta : -claim.delta);
  }
  return out;
}

// Over all results that have a p.
void mark_survivors(std::vector<ClaimResult>& results) {
  std::vector<double> p;
  for (const ClaimResult& r : results) {
    if (r.p) p.push_back(*r.p);
  }
  const std::vector<bool> significant = holm(p, 1 - kConfidence);
  auto next = significant.begin();
  for (ClaimResult& r : results) {
    if (!r.p) continue;
    const bool decided = r.verdict == Verdict::kSupported || r.verdict == Verdict::kNotSupported;
    r.survives = *next++ && decided;
  }
}

std::vector<std::string> names_of(const Evidence& evidence, Writing writing) {
  std::vector<std::string> names;
  for (const EvidenceModel& model : evidence.models) {
    if (model.writing == writing) names.push_back(model.name);
  }
  if (names.empty()) names.emplace_back();
  return names;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kNames = {"supported", "not supported", "cannot tell",
                                                      "not measured"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Verdict verdict_of(ClaimDirection direction, double delta, double lo, double hi) {
  const bool above = direction == ClaimDirection::kAbove;
  const double near = above ? lo : -hi, far = above ? hi : -lo;  // ends of the interval, claimed way up
  if (near > delta) return Verdict::kSupported;
  if (far < delta) return Verdict::kNotSupported;
  return Verdict::kCannotTell;
}

std::vector<ClaimResult> judge(const Evidence& evidence) {
  return judge(evidence, claims());
}

std::vector<ClaimResult> judge(const Evidence& evidence, std::span<const Claim> claims) {
  const std::vector<std::string> masked = names_of(evidence, Writing::kFillsMasks);
  const std::vector<std::string> causal = names_of(evidence, Writing::kAppends);
  std::vector<ClaimResult> out;
  for (const Claim& claim : claims) {
    const std::vector<ModelNumber> each = numbers_of(evidence, claim);
    const auto add = [&](const std::string& model, const std::string& against) {
      out.push_back(judge_one(evidence, claim, model, against));
      out.back().each = each;
    };
    for (const std::string& model : masked) {
      if (claim.scope == ClaimScope::kMasked) {
        add(model, "");
        continue;
      }
      for (const std::string& against : causal) add(model, against);
    }
  }
  mark_survivors(out);
  return out;
}

std::vector<bool> holm(std::span<const double> p, double level) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<bool> significant(p.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    if (p[order[rank]] > level / static_cast<double>(order.size() - rank)) break;
    significant[order[rank]] = true;
  }
  return significant;
}

std::string claims_csv(std::span<const ClaimResult> results) {
  std::string out =
      "claim,topic,model,against,n,questions,value,null,value_minus_null,lo,hi,direction,delta,unit,each,p,"
      "survives_holm,verdict,note\n";
  for (const ClaimResult& r : results) {
    const auto number = [&](double x) { return r.n > 0 ? fmt::format("{:.9g}", x) : ""; };
    std::string each;
    for (const ModelNumber& m : r.each) {
      if (m.n > 0) each += fmt::format("{}{}={:.9g}", each.empty() ? "" : ";", m.model, m.value);
    }
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{:.9g},{},{},", r.claim->id, r.claim->topic,
                       csv_field(r.model), csv_field(r.against), r.n, r.questions, number(r.value),
                       number(r.null), number(r.excess), number(r.lo), number(r.hi),
                       r.claim->direction == ClaimDirection::kAbove ? "above" : "below", r.claim->delta,
                       csv_field(r.claim->unit), csv_field(each));
    out += fmt::format("{},{},{},{}\n", r.p ? fmt::format("{:.9g}", *r.p) : "",
                       r.p ? (r.survives ? "1" : "0") : "", name_of(r.verdict), csv_field(r.note));
  }
  return out;
}

}  // namespace buoy
