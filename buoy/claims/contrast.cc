#include "buoy/claims/contrast.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/claims/claim_number.h"

namespace buoy {
namespace {

// By sample, whichever model it is of: keys have no model.
using Numbers = std::map<SampleKey, ClaimNumber>;

// A contrast is a sum of such ratios Σ value ÷ Σ weight, with their signs, each over as many as there are
// models on its side.
struct Term {
  double sign = 1;
  std::size_t model = 0;  // among all: first those of the contrast, then those that it is against
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

std::size_t count_of(const Contrasted& models) {
  return models.models.size() + models.against.size();
}

bool is_against(const Contrasted& models, std::size_t model) {
  return model >= models.models.size();
}

// How many share a side with the model.
double shared_by(const Contrasted& models, std::size_t model) {
  return static_cast<double>(is_against(models, model) ? models.against.size() : models.models.size());
}

std::vector<Term> terms_of(const SampleTable& table, const Claim& claim, const Contrasted& models) {
  check(models.against.empty() || claim.minus == nullptr, "a comparison of models has one side");
  std::vector<Term> terms;
  for (std::size_t m = 0; m < count_of(models); ++m) {
    const bool against = is_against(models, m);
    const std::string& name = against ? models.against[m - models.models.size()] : models.models[m];
    const double part = 1 / shared_by(models, m);
    terms.push_back({.sign = against ? -part : part,
                     .model = m,
                     .numbers = numbers_of_side(table, name, claim, claim.side)});
    if (claim.minus != nullptr)
      terms.push_back(
          {.sign = -part, .model = m, .numbers = numbers_of_side(table, name, claim, *claim.minus)});
  }
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

// What every model adds to the sum, without resampling.
std::optional<std::vector<double>> parts_of_sum(const std::vector<Term>& terms, std::size_t models) {
  std::vector<double> parts(models);
  for (const Term& term : terms) {
    const std::optional<double> ratio = ratio_of(sums_by_unit(term.numbers, units_of({term})).ratios());
    if (!ratio) return std::nullopt;
    parts[term.model] += term.sign * *ratio;
  }
  return parts;
}

std::optional<Contrast> contrast_from(const std::vector<Term>& values, const std::vector<Term>& excesses,
                                      const Contrasted& models) {
  const auto value_parts = parts_of_sum(values, count_of(models));
  const auto excess_parts = value_parts ? parts_of_sum(excesses, count_of(models)) : std::nullopt;
  std::optional<Estimate> excess = excess_parts ? sum_of(excesses) : std::nullopt;
  if (!excess) return std::nullopt;
  const double value = std::accumulate(value_parts->begin(), value_parts->end(), 0.0);
  Contrast made{.n = excess->n,
                .questions = excess->questions,
                .value = value,
                .null = value - excess->mean,
                .excess = std::move(*excess)};
  for (std::size_t m = 0; m < excess_parts->size(); ++m) {
    const double own = (*excess_parts)[m] * shared_by(models, m);
    if (is_against(models, m))
      made.against.push_back(-own);
    else
      made.models.push_back(own);
  }
  return made;
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
  return contrast_from(values, excesses, models);
}

std::optional<Contrast> contrast_beside(const SampleTable& table, const Claim& claim,
                                        const Contrasted& models, const NullPlace& null) {
  std::vector<Term> values = terms_of(table, claim, models);
  std::vector<Term> nulls = terms_of(*null.model, claim, models);
  if (!models.against.empty()) {
    const std::vector<Term> others = terms_of(*null.against, claim, models);
    for (std::size_t i = models.models.size(); i < nulls.size(); ++i) nulls[i] = others[i];
  }
  for (std::size_t i = 0; i < values.size(); ++i) keep_common(values[i].numbers, nulls[i].numbers);
  std::vector<Term> all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    all.push_back(std::move(values[i]));
    all.push_back(
        {.sign = -all.back().sign, .model = all.back().model, .numbers = std::move(nulls[i].numbers)});
  }
  keep_pairs(all, models);
  values.clear();
  for (std::size_t i = 0; i < all.size(); i += 2) values.push_back(all[i]);
  return contrast_from(values, all, models);
}

}  // namespace buoy
