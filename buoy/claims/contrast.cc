#include "buoy/claims/contrast.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/claims/claim_number.h"

namespace buoy {
namespace {

// By sample, whichever model it is of: keys have no model.
using Numbers = std::map<SampleKey, ClaimNumber>;

// A contrast is a sum of such ratios Σ value ÷ Σ weight, with their signs.
struct Term {
  double sign = 1;
  Numbers numbers;
};

// The null of a number is always there: 0 where the claim states nothing else.
Numbers numbers_of_side(const SampleTable& table, const std::string& model, const Claim& claim,
                        const ClaimSide& side) {
  Numbers out;
  const std::set<Index> layers = recorded_layers(table, model);
  const std::set<SampleKey> unchanged = same_prompts(table, side);
  const bool uniform = claim.null == ClaimNull::kUniform;
  for (const SampleRows& sample : rows_of(table, model, side.quantity)) {
    if (unchanged.contains(sample.key)) continue;
    std::optional<ClaimNumber> number = number_of(side, sample, layers);
    if (!number || (uniform && !number->null)) continue;
    // A mean over layers brings that of uniform attention with it, asked or not.
    if (!uniform && side.number == SampleNumber::kLayers) number->null = 0.0;
    SampleKey key = sample.key;
    key.model.clear();
    out[key] = {.value = number->value, .weight = number->weight, .null = number->null.value_or(0)};
  }
  return out;
}

std::vector<Term> terms_of(const SampleTable& table, const Claim& claim, const Contrasted& models) {
  check(models.against.empty() || claim.minus == nullptr, "a comparison of models has one side");
  std::vector<Term> terms = {{.sign = 1, .numbers = numbers_of_side(table, models.model, claim, claim.side)}};
  if (!models.against.empty())
    terms.push_back({.sign = -1, .numbers = numbers_of_side(table, models.against, claim, claim.side)});
  if (claim.minus != nullptr)
    terms.push_back({.sign = -1, .numbers = numbers_of_side(table, models.model, claim, *claim.minus)});
  return terms;
}

// Leaves only the samples that both have, so that both are means over the same ones.
void keep_common(Numbers& a, Numbers& b) {
  std::erase_if(a, [&](const auto& entry) { return !b.contains(entry.first); });
  std::erase_if(b, [&](const auto& entry) { return !a.contains(entry.first); });
}

// Models are compared on the samples that all terms have. The two sides of a claim about one model need not
// have the same ones: gold stands first in some samples, in others something else does.
void keep_pairs(std::vector<Term>& terms, const Contrasted& models) {
  if (models.against.empty()) return;
  for (Term& a : terms) {
    for (Term& b : terms) keep_common(a.numbers, b.numbers);
  }
}

// The number of each sample's question, in the order of all samples of all terms.
struct Units {
  std::map<SampleKey, std::size_t> of;
  std::size_t count = 0;
};

Units units_of(const std::vector<Term>& terms) {
  Units units;
  for (const Term& term : terms) {
    for (const auto& [key, number] : term.numbers) units.of.emplace(key, 0);
  }
  std::map<std::string, std::size_t> questions;
  for (auto& [key, unit] : units.of) {
    if (key.question.empty()) {
      unit = units.count++;
      continue;
    }
    const auto [at, is_new] = questions.try_emplace(key.question, units.count);
    if (is_new) ++units.count;
    unit = at->second;
  }
  return units;
}

DenseColumn sums_by_unit(const Numbers& numbers, const Units& units) {
  DenseColumn sums{.values = std::vector<double>(units.count), .weights = std::vector<double>(units.count)};
  for (const auto& [key, number] : numbers) {
    sums.values[units.of.at(key)] += number.value;
    sums.weights[units.of.at(key)] += number.weight;
  }
  return sums;
}

// Nothing when a term has no sample or its weights cancel out.
std::optional<Estimate> sum_of(const std::vector<Term>& terms) {
  const Units units = units_of(terms);
  std::vector<double> influence(units.count);
  double mean = 0;
  Index n = 0, questions = 0;
  for (const Term& term : terms) {
    const DenseColumn sums = sums_by_unit(term.numbers, units);
    const std::optional<double> ratio = ratio_of(sums.ratios());
    if (!ratio) return std::nullopt;
    const std::vector<double> of_term = influence_of(sums.ratios(), *ratio);
    for (std::size_t u = 0; u < influence.size(); ++u) influence[u] += term.sign * of_term[u];
    mean += term.sign * *ratio;
    const bool first = &term == &terms.front();
    n = first ? std::ssize(term.numbers) : std::min<Index>(n, std::ssize(term.numbers));
    questions = first ? sums.n() : std::min(questions, sums.n());
  }
  const Resamples resamples(std::ssize(influence));
  return Estimate{
      .n = n, .questions = questions, .mean = mean, .bootstrap = Studentised(mean, influence, resamples)};
}

// Without resampling.
std::optional<double> mean_of_sum(const std::vector<Term>& terms) {
  double mean = 0;
  for (const Term& term : terms) {
    const std::optional<double> ratio = ratio_of(sums_by_unit(term.numbers, units_of({term})).ratios());
    if (!ratio) return std::nullopt;
    mean += term.sign * *ratio;
  }
  return mean;
}

std::optional<Contrast> contrast_from(const std::vector<Term>& values, const std::vector<Term>& excesses) {
  const std::optional<double> value = mean_of_sum(values);
  std::optional<Estimate> excess = value ? sum_of(excesses) : std::nullopt;
  if (!excess) return std::nullopt;
  return Contrast{.n = excess->n,
                  .questions = excess->questions,
                  .value = *value,
                  .null = *value - excess->mean,
                  .excess = std::move(*excess)};
}

}  // namespace

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

std::optional<Contrast> contrast_of(const SampleTable& table, const Claim& claim, const Contrasted& models) {
  std::vector<Term> values = terms_of(table, claim, models);
  keep_pairs(values, models);
  std::vector<Term> excesses = values;
  for (Term& term : excesses) {
    for (auto& [key, number] : term.numbers) number.value -= *number.null * number.weight;
  }
  return contrast_from(values, excesses);
}

std::optional<Contrast> contrast_beside(const SampleTable& table, const Claim& claim,
                                        const Contrasted& models, const NullPlace& null) {
  std::vector<Term> values = terms_of(table, claim, models);
  std::vector<Term> nulls = terms_of(*null.model, claim, models);
  if (!models.against.empty()) nulls[1] = terms_of(*null.against, claim, models)[1];
  for (std::size_t i = 0; i < values.size(); ++i) keep_common(values[i].numbers, nulls[i].numbers);
  std::vector<Term> all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    all.push_back(std::move(values[i]));
    all.push_back({.sign = -all.back().sign, .numbers = std::move(nulls[i].numbers)});
  }
  keep_pairs(all, models);
  values.clear();
  for (std::size_t i = 0; i < all.size(); i += 2) values.push_back(all[i]);
  return contrast_from(values, all);
}

}  // namespace buoy
