#include "buoy/claims/claims.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "buoy/claims/contrast.h"

namespace buoy {
namespace {

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

std::optional<double> mean_of(const SampleTable& table, const SampleTable::Column& column,
                              const std::string& model) {
  return ratio_of(dense(column, table.select({.model = model})).ratios());
}

// Whether a column of exact match is a condition that the claim looks at. Of the gain from passages it is the
// one with them.
bool is_looked_at(const ColumnKey& key, const Claim& claim) {
  const ClaimSide& side = claim.side;
  if (key.quantity != "em") return false;
  if (side.number == SampleNumber::kRange || side.quantity == "em_slope")
    return key.part.starts_with(fmt::format("{}=", changed_part(side)));
  return key.part == side.part || (claim.source != ClaimSource::kAnswers && key.part == side.less);
}

// Whether exact match leaves the models of a result no room in any condition that the claim looks at: all of
// them near 0 or all near 100.
bool without_room(const SampleTable& table, const Claim& claim, const ClaimResult& r) {
  bool any = false;
  for (const auto& [key, column] : table.columns()) {
    if (!is_looked_at(key, claim)) continue;
    const auto a = mean_of(table, column, r.model);
    const auto b = r.against.empty() ? a : mean_of(table, column, r.against);
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

// Empty where the null's interval is a ground for a verdict.
std::string why_cannot_tell(const SampleTable& table, const Claim& claim, const ClaimResult& r,
                            const NullResult& null) {
  if (null.questions < kFewestQuestions) return why_no_ground(null);
  const bool attention = claim.source == ClaimSource::kAnalyses || claim.source == ClaimSource::kByGold;
  if (!attention && without_room(table, claim, r)) {
    return fmt::format("exact match of {} is within {} points of 0 or 100 %: no room for a difference",
                       r.against.empty() ? "the model" : "both models", kNoRoom);
  }
  return why_no_ground(null);
}

std::vector<ModelNumber> numbers_of(const Evidence& evidence, const Claim& claim) {
  std::vector<ModelNumber> out;
  const SampleTable* table = table_of(evidence, claim.source);
  for (const EvidenceModel& model : evidence.models) {
    ModelNumber number{.model = model.name};
    if (const auto contrast =
            table == nullptr ? std::nullopt : contrast_of(*table, claim, {.model = model.name})) {
      number.n = contrast->n;
      number.value = contrast->value;
      number.null = contrast->null;
    }
    out.push_back(std::move(number));
  }
  return out;
}

// What the interval goes beyond δ by, at its near end; negative where it does not.
double margin_of(const NullResult& null, ClaimDirection direction) {
  return (direction == ClaimDirection::kAbove ? null.lo : -null.hi) - null.delta;
}

NullResult beside_null(std::string name, const Contrast& contrast, const Claim& claim, double delta) {
  const Studentised& bootstrap = contrast.excess.bootstrap;
  const Interval interval = bootstrap.interval();
  return {.name = std::move(name),
          .n = contrast.n,
          .questions = contrast.questions,
          .value = contrast.value,
          .null = contrast.null,
          .excess = contrast.excess.mean,
          .lo = interval.lo,
          .hi = interval.hi,
          .error = bootstrap.standard_error(),
          .delta = delta,
          .p = bootstrap.p(claim.direction == ClaimDirection::kAbove ? delta : -delta)};
}

// Where the numbers of a null stand. An autoregressive model is its own frozen run: a row that it has
// computed never changes.
NullPlace place_of(const Evidence& evidence, const Claim& claim, const NullTables& tables) {
  const SampleTable* table = claim.source == ClaimSource::kByGold ? tables.by_gold : tables.analyses;
  return {.model = table,
          .against = tables.kind == NullKind::kFrozen ? table_of(evidence, claim.source) : table};
}

NullResult beside_tables(const Evidence& evidence, const Claim& claim, const ClaimResult& r,
                         const NullTables& tables) {
  const std::string name(name_of(tables.kind));
  const NullPlace place = place_of(evidence, claim, tables);
  if (place.model == nullptr) return {.name = name, .left_out = "was not run"};
  const auto contrast = contrast_beside(*table_of(evidence, claim.source), claim,
                                        {.model = r.model, .against = r.against}, place);
  if (!contrast) return {.name = name, .left_out = "has none of these numbers"};
  NullResult out = beside_null(name, *contrast, claim, claim.beyond > 0 ? claim.beyond : claim.delta);
  const Index all = r.nulls.front().n;
  if (static_cast<double>(out.n) < kLeastCovered * static_cast<double>(all))
    out.left_out = fmt::format("has {} of {} samples", out.n, all);
  return out;
}

// Of several tables of one kind (twins shuffled by several seeds) the one that leaves the claim least.
NullResult beside_kind(const Evidence& evidence, const Claim& claim, const ClaimResult& r, NullKind kind) {
  std::optional<NullResult> strictest;
  for (const NullTables& tables : evidence.nulls) {
    if (tables.kind != kind) continue;
    NullResult found = beside_tables(evidence, claim, r, tables);
    const auto stricter = [&] {
      if (found.left_out.empty() != strictest->left_out.empty()) return found.left_out.empty();
      return margin_of(found, claim.direction) < margin_of(*strictest, claim.direction);
    };
    if (!strictest || stricter()) strictest = std::move(found);
  }
  if (strictest) return *strictest;
  return {.name = std::string(name_of(kind)), .left_out = "was not run"};
}

// Adds which nulls do not count.
void note_left_out(ClaimResult& r) {
  for (const NullResult& null : r.nulls) {
    if (null.left_out.empty()) continue;
    r.note += fmt::format("{}not beside {}, which {}", r.note.empty() ? "" : "; ", null.name, null.left_out);
  }
}

// From r.nulls, of which the first counts.
void decide(ClaimResult& r, const SampleTable& table) {
  const Claim& claim = *r.claim;
  const NullResult* strictest = &r.nulls.front();
  double largest = 0;
  Index counted = 0;
  for (const NullResult& null : r.nulls) {
    if (!null.left_out.empty()) continue;
    ++counted;
    if (why_no_ground(null).empty()) largest = std::max(largest, null.p);  // without spread there is no p
    if (margin_of(null, claim.direction) < margin_of(*strictest, claim.direction)) strictest = &null;
  }
  r.strictest = strictest->name;
  r.n = strictest->n;
  r.questions = strictest->questions;
  r.value = strictest->value;
  r.null = strictest->null;
  r.excess = strictest->excess;
  r.lo = strictest->lo;
  r.hi = strictest->hi;
  r.delta = strictest->delta;
  r.note = why_cannot_tell(table, claim, r, *strictest);
  r.verdict = r.note.empty() ? verdict_of(claim.direction, r.delta, r.lo, r.hi) : Verdict::kCannotTell;
  if (r.note.empty()) {
    r.p = r.verdict == Verdict::kNotSupported ? std::min(1.0, static_cast<double>(counted) * strictest->p)
                                              : largest;
  }
  note_left_out(r);
}

ClaimResult judge_one(const Evidence& evidence, const Claim& claim, const Contrasted& models) {
  ClaimResult out{.claim = &claim, .model = models.model, .against = models.against};
  const bool compares = claim.scope == ClaimScope::kAgainstCausal;
  const SampleTable* table = table_of(evidence, claim.source);
  out.delta = claim.delta;
  if (models.model.empty() || (compares && models.against.empty())) {
    out.note = models.model.empty() ? "no masked diffusion model" : "no autoregressive model to compare with";
    return out;
  }
  if (table == nullptr) {
    out.note = missing(claim.source);
    return out;
  }
  const auto contrast = contrast_of(*table, claim, models);
  if (!contrast) {
    out.note = why_not_measured(*table, claim);
    return out;
  }
  const bool uniform = claim.null == ClaimNull::kUniform;
  out.nulls.push_back(beside_null(uniform ? "uniform" : "stated", *contrast, claim, claim.delta));
  for (const NullKind kind : claim.nulls) out.nulls.push_back(beside_kind(evidence, claim, out, kind));
  decide(out, *table);
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

std::string why_no_ground(const NullResult& null) {
  if (null.questions < kFewestQuestions) {
    return fmt::format("{} question{}, {} are needed", null.questions, null.questions == 1 ? "" : "s",
                       kFewestQuestions);
  }
  // What float32 leaves of equal numbers is no spread.
  if (null.error <= 1e-6 * null.delta) return "all questions say the same: no spread to judge by";
  return "";
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
      out.push_back(judge_one(evidence, claim, {.model = model, .against = against}));
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

}  // namespace buoy
