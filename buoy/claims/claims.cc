#include "buoy/claims/claims.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include <fmt/ranges.h>

#include "buoy/claims/contrast.h"
#include "buoy/claims/over_models.h"

namespace buoy {
namespace {

struct KindOfModels {
  std::string name;
  std::vector<std::string> models;
};

// What the nulls after the first are held against.
struct ContrastedSoFar {
  Contrasted models;
  Index n = 0;  // samples
};

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

// Whether exact match leaves the models no room in any condition that the claim looks at: all of them near 0
// or all near 100.
bool without_room(const SampleTable& table, const Claim& claim, const Contrasted& models) {
  bool any = false;
  for (const auto& [key, column] : table.columns()) {
    if (!is_looked_at(key, claim)) continue;
    bool known = true, floor = true, ceiling = true;
    for (const auto* side : {&models.models, &models.against}) {
      for (const std::string& model : *side) {
        const auto mean = mean_of(table, column, model);
        known = known && mean;
        floor = floor && mean && *mean <= kNoRoom;
        ceiling = ceiling && mean && *mean >= 100 - kNoRoom;
      }
    }
    if (!known) continue;
    any = true;
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

// Why no interval of these samples, over questions or over models, is a ground for a verdict. Empty where one
// may be.
std::string why_no_room(const SampleTable& table, const Claim& claim, const Contrasted& models,
                        const NullResult& null) {
  if (null.questions < kFewestQuestions) return why_no_ground(null);
  const bool attention = claim.source == ClaimSource::kAnalyses || claim.source == ClaimSource::kByGold;
  if (attention || !without_room(table, claim, models)) return "";
  const std::size_t count = models.models.size() + models.against.size();
  return fmt::format("exact match of {} is within {} points of 0 or 100 %: no room for a difference",
                     count == 1   ? "the model"
                     : count == 2 ? "both models"
                                  : "all models",
                     kNoRoom);
}

// Empty where the null's interval over questions is a ground for a verdict.
std::string why_cannot_tell(const SampleTable& table, const Claim& claim, const Contrasted& models,
                            const NullResult& null) {
  const std::string why = why_no_room(table, claim, models, null);
  return why.empty() ? why_no_ground(null) : why;
}

std::vector<ModelNumber> numbers_of(const Evidence& evidence, const Claim& claim) {
  std::vector<ModelNumber> out;
  const SampleTable* table = table_of(evidence, claim.source);
  for (const EvidenceModel& model : evidence.models) {
    ModelNumber number{.model = model.name, .kind = model.kind};
    if (const auto contrast =
            table == nullptr ? std::nullopt : contrast_of(*table, claim, {.models = {model.name}})) {
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
          .p = bootstrap.p(claim.direction == ClaimDirection::kAbove ? delta : -delta),
          .over_models = spread_of(contrast)};
}

// Where the numbers of a null stand. An autoregressive model is its own frozen run: a row that it has
// computed never changes.
NullPlace place_of(const Evidence& evidence, const Claim& claim, const NullTables& tables) {
  const SampleTable* table = claim.source == ClaimSource::kByGold ? tables.by_gold : tables.analyses;
  return {.model = table,
          .against = tables.kind == NullKind::kFrozen ? table_of(evidence, claim.source) : table};
}

NullResult beside_tables(const Evidence& evidence, const Claim& claim, const ContrastedSoFar& r,
                         const NullTables& tables) {
  const std::string name(name_of(tables.kind));
  const NullPlace place = place_of(evidence, claim, tables);
  if (place.model == nullptr) return {.name = name, .left_out = "was not run"};
  const auto contrast = contrast_beside(*table_of(evidence, claim.source), claim, r.models, place);
  if (!contrast) return {.name = name, .left_out = "has none of these numbers"};
  NullResult out = beside_null(name, *contrast, claim, claim.beyond > 0 ? claim.beyond : claim.delta);
  const Index all = r.n;
  if (static_cast<double>(out.n) < kLeastCovered * static_cast<double>(all))
    out.left_out = fmt::format("has {} of {} samples", out.n, all);
  return out;
}

// Of several tables of one kind (twins shuffled by several seeds) the one that leaves the claim least.
NullResult beside_kind(const Evidence& evidence, const Claim& claim, const ContrastedSoFar& r,
                       NullKind kind) {
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
void decide(ClaimResult& r, const SampleTable& table, const Contrasted& models) {
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
  r.over_models = decide_over_models(r, why_no_room(table, claim, models, *strictest));
  r.note = why_cannot_tell(table, claim, models, *strictest);
  r.verdict = r.note.empty() ? verdict_of(claim.direction, r.delta, r.lo, r.hi) : Verdict::kCannotTell;
  if (r.note.empty()) {
    r.p = r.verdict == Verdict::kNotSupported ? std::min(1.0, static_cast<double>(counted) * strictest->p)
                                              : largest;
  }
  note_left_out(r);
}

// Models of a kind that have none of the numbers are left out, and named.
std::string leave_out(const SampleTable& table, const Claim& claim, std::vector<std::string>& models) {
  if (models.size() < 2) return "";
  std::vector<std::string> without;
  for (const std::string& model : models) {
    if (!contrast_of(table, claim, {.models = {model}})) without.push_back(model);
  }
  if (without.size() == models.size()) return "";
  std::erase_if(models, [&](const std::string& m) { return std::ranges::find(without, m) != without.end(); });
  return without.empty()
             ? ""
             : fmt::format("without {}, which has none of these numbers", fmt::join(without, ", "));
}

ClaimResult judge_one(const Evidence& evidence, const Claim& claim, const KindOfModels& kind,
                      const KindOfModels& other) {
  ClaimResult out{.claim = &claim, .model = kind.name, .against = other.name};
  Contrasted models{.models = kind.models, .against = other.models};
  const bool compares = claim.scope == ClaimScope::kAgainstCausal;
  const SampleTable* table = table_of(evidence, claim.source);
  out.delta = claim.delta;
  if (models.models.empty() || (compares && models.against.empty())) {
    out.note =
        models.models.empty() ? "no masked diffusion model" : "no autoregressive model to compare with";
    return out;
  }
  if (table == nullptr) {
    out.note = missing(claim.source);
    return out;
  }
  std::string absent = leave_out(*table, claim, models.models);
  const std::string absent_against = leave_out(*table, claim, models.against);
  if (!absent_against.empty()) absent += (absent.empty() ? "" : "; ") + absent_against;
  const auto contrast = contrast_of(*table, claim, models);
  if (!contrast) {
    out.note = why_not_measured(*table, claim);
    return out;
  }
  const bool uniform = claim.null == ClaimNull::kUniform;
  out.nulls.push_back(beside_null(uniform ? "uniform" : "stated", *contrast, claim, claim.delta));
  const ContrastedSoFar so_far{.models = models, .n = contrast->n};
  for (const NullKind null : claim.nulls) out.nulls.push_back(beside_kind(evidence, claim, so_far, null));
  decide(out, *table, models);
  if (!absent.empty()) out.note += (out.note.empty() ? "" : "; ") + absent;
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

// In order of appearance; one without models where there is none.
std::vector<KindOfModels> kinds_of(const Evidence& evidence, Writing writing) {
  std::vector<KindOfModels> kinds;
  for (const EvidenceModel& model : evidence.models) {
    if (model.writing != writing) continue;
    auto found = std::ranges::find(kinds, model.kind_name(), &KindOfModels::name);
    if (found == kinds.end())
      found = kinds.insert(kinds.end(), KindOfModels{.name = model.kind_name(), .models = {}});
    found->models.push_back(model.name);
  }
  if (kinds.empty()) kinds.emplace_back();
  return kinds;
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
  if (null.error <= kNoSpread * null.delta) return "all questions say the same: no spread to judge by";
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
  const std::vector<KindOfModels> masked = kinds_of(evidence, Writing::kFillsMasks);
  const std::vector<KindOfModels> causal = kinds_of(evidence, Writing::kAppends);
  std::vector<ClaimResult> out;
  for (const Claim& claim : claims) {
    const std::vector<ModelNumber> each = numbers_of(evidence, claim);
    const auto add = [&](const KindOfModels& kind, const KindOfModels& against) {
      out.push_back(judge_one(evidence, claim, kind, against));
      out.back().each = each;
    };
    for (const KindOfModels& kind : masked) {
      if (claim.scope == ClaimScope::kMasked) {
        add(kind, {});
        continue;
      }
      for (const KindOfModels& against : causal) add(kind, against);
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
