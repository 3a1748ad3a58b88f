#include "buoy/claims/claims.h"

#include <array>

#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/base/error.h"
#include "buoy/claims/claim_number.h"

namespace buoy {
namespace {

constexpr const char* kValue = "value";
constexpr const char* kExcess = "excess";  // value − null, sample by sample

const SampleTable* table_of(const Evidence& evidence, ClaimSource source) {
  const std::array<const SampleTable*, 4> tables = {evidence.analyses, evidence.by_gold, evidence.answers,
                                                    evidence.stress};
  return tables[static_cast<std::size_t>(source)];
}

std::string_view missing(ClaimSource source) {
  constexpr std::array<std::string_view, 4> kWhy = {
      "attention was not analysed", "no sample has both gold and other passages",
      "answers with and without passages were not compared", "the models were not put under stress"};
  return kWhy[static_cast<std::size_t>(source)];
}

// Adds the numbers of one side of a claim for one model, as quantity `name`.
void add_side(SampleTable& to, const SampleTable& from, const std::string& model, const Claim& claim,
              const ClaimSide& side, const char* name) {
  const std::set<Index> layers = recorded_layers(from, model);
  for (const SampleRows& sample : rows_of(from, model, side.quantity)) {
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

struct Estimate {
  Index n = 0;
  double mean = 0, lo = 0, hi = 0;
};

// The estimate of the column with this part among summaries.
std::optional<Estimate> estimate_in(const std::vector<Summary>& summaries, std::string_view part) {
  for (const Summary& s : summaries) {
    if (s.part == part) return Estimate{.n = s.n, .mean = s.mean, .lo = *s.lo, .hi = *s.hi};
  }
  return std::nullopt;
}

struct Contrast {
  Estimate value, excess;
};

std::optional<Contrast> contrast_of(const std::vector<Summary>& summaries) {
  const auto value = estimate_in(summaries, kValue), excess = estimate_in(summaries, kExcess);
  if (!value || !excess) return std::nullopt;
  return Contrast{.value = *value, .excess = *excess};
}

std::optional<Contrast> contrast_within(const SampleTable& from, const Claim& claim,
                                        const std::string& model) {
  SampleTable table;
  add_side(table, from, model, claim, claim.side, "side");
  if (claim.minus == nullptr) return contrast_of(table.summaries({.model = model}));
  add_side(table, from, model, claim, *claim.minus, "minus");
  const auto difference = [&](const char* part) -> std::optional<Estimate> {
    const auto found = column_difference(table, {.model = model}, {.quantity = "side", .part = part},
                                         {.quantity = "minus", .part = part});
    if (!found) return std::nullopt;
    return Estimate{.n = found->n, .mean = found->mean, .lo = found->lo, .hi = found->hi};
  };
  const auto value = difference(kValue), excess = difference(kExcess);
  if (!value || !excess) return std::nullopt;
  return Contrast{.value = *value, .excess = *excess};
}

std::optional<Contrast> contrast_between(const SampleTable& from, const Claim& claim,
                                         const std::string& model, const std::string& against) {
  check(claim.minus == nullptr, "a comparison of models has one side");
  SampleTable table;
  add_side(table, from, model, claim, claim.side, "side");
  add_side(table, from, against, claim, claim.side, "side");
  return contrast_of(paired_differences(table, {.a = model, .b = against, .data = {}, .task = {}}));
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
    out.note = fmt::format("no sample {} what it takes ({})", compares ? "of both models has" : "has",
                           claim.side.quantity);
    return out;
  }
  out.n = contrast->excess.n;
  out.value = contrast->value.mean;
  out.excess = contrast->excess.mean;
  out.null = out.value - out.excess;
  out.lo = contrast->excess.lo;
  out.hi = contrast->excess.hi;
  out.verdict = verdict_of(claim.direction, claim.delta, out.lo, out.hi);
  if (out.n < kFewestSamples) {
    out.verdict = Verdict::kCannotTell;
    out.note = fmt::format("{} samples, {} are needed", out.n, kFewestSamples);
  }
  return out;
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
  return out;
}

std::string claims_csv(std::span<const ClaimResult> results) {
  std::string out =
      "claim,topic,model,against,n,value,null,value_minus_null,lo,hi,direction,delta,unit,verdict,note\n";
  for (const ClaimResult& r : results) {
    const auto number = [&](double x) { return r.n > 0 ? fmt::format("{:.9g}", x) : ""; };
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{:.9g},{},{},{}\n", r.claim->id, r.claim->topic,
                       csv_field(r.model), csv_field(r.against), r.n, number(r.value), number(r.null),
                       number(r.excess), number(r.lo), number(r.hi),
                       r.claim->direction == ClaimDirection::kAbove ? "above" : "below", r.claim->delta,
                       csv_field(r.claim->unit), name_of(r.verdict), csv_field(r.note));
  }
  return out;
}

}  // namespace buoy
