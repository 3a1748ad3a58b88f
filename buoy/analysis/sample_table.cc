#include "buoy/analysis/sample_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

#include "buoy/analysis/mean.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void insert(SampleTable::Column& column, Index at, const Measurement& m) {
  const std::size_t size = column.values.size();
  if (m.weight != 1 && column.weights.empty()) column.weights.assign(size, 1);
  if (m.null && column.nulls.empty()) column.nulls.assign(size, kNone);
  const bool weighted = m.weight != 1 || !column.weights.empty();
  const bool with_null = m.null || !column.nulls.empty();
  column.values.insert(column.values.begin() + at, m.value);
  if (weighted) column.weights.insert(column.weights.begin() + at, m.weight);
  if (with_null) column.nulls.insert(column.nulls.begin() + at, m.null.value_or(kNone));
}

Summary named(const ColumnKey& key) {
  return {.quantity = key.quantity, .layer = key.layer, .head = key.head, .part = key.part};
}

// Questions differ in how many of them have a number; the draws for each count are made once.
class ResamplesBySize {
 public:
  const Resamples& of(Index n) {
    const auto [at, is_new] = made_.try_emplace(n);
    if (is_new) at->second = std::make_unique<Resamples>(n);
    return *at->second;
  }

 private:
  std::map<Index, std::unique_ptr<Resamples>> made_;
};

// Only the questions that have a number in one of the columns are units: the others would count as units that
// never vary.
struct Sides {
  DenseColumn a, b;  // b may be empty
};

void drop_empty(Sides& sides) {
  std::size_t kept = 0;
  const bool two = !sides.b.weights.empty();
  for (std::size_t q = 0; q < sides.a.weights.size(); ++q) {
    if (sides.a.weights[q] == 0 && (!two || sides.b.weights[q] == 0)) continue;
    for (DenseColumn* side : {&sides.a, &sides.b}) {
      if (side->weights.empty()) continue;
      side->values[kept] = side->values[q];
      side->weights[kept] = side->weights[q];
    }
    ++kept;
  }
  for (DenseColumn* side : {&sides.a, &sides.b}) {
    if (side->weights.empty()) continue;
    side->values.resize(kept);
    side->weights.resize(kept);
  }
}

// Of a, or of a − b where there is a b; by question.
std::optional<Estimate> estimate_of(Sides sides, ResamplesBySize& resamples) {
  drop_empty(sides);
  const bool two = !sides.b.weights.empty();
  const auto mean_a = ratio_of(sides.a.ratios());
  const auto mean_b = two ? ratio_of(sides.b.ratios()) : std::optional(0.0);
  if (!mean_a || !mean_b) return std::nullopt;
  std::vector<double> influence = influence_of(sides.a.ratios(), *mean_a);
  if (two) {
    const std::vector<double> of_b = influence_of(sides.b.ratios(), *mean_b);
    for (std::size_t q = 0; q < influence.size(); ++q) influence[q] -= of_b[q];
  }
  const double mean = *mean_a - *mean_b;
  return Estimate{.questions = two ? std::min(sides.a.n(), sides.b.n()) : sides.a.n(),
                  .mean = mean,
                  .bootstrap = Studentised(mean, influence, resamples.of(std::ssize(influence)))};
}

void set_interval(Summary& summary, const Estimate& estimate) {
  const Interval interval = estimate.bootstrap.interval();
  summary.lo = interval.lo;
  summary.hi = interval.hi;
}

// Samples of two models that differ in nothing but the model, in the same order.
struct Pairs {
  std::vector<Index> a, b;
};

Pairs pairs_of(const SampleTable& table, const Pairing& pairing) {
  const auto rest = [&](Index i) {
    const SampleKey& key = table.samples()[i];
    return std::tie(key.data, key.task, key.sample);
  };
  const auto a = table.select({.model = pairing.a, .data = pairing.data, .task = pairing.task});
  const auto b = table.select({.model = pairing.b, .data = pairing.data, .task = pairing.task});
  Pairs out;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (rest(a[i]) == rest(b[j])) {
      out.a.push_back(a[i++]);
      out.b.push_back(b[j++]);
    } else {
      ++(rest(a[i]) < rest(b[j]) ? i : j);
    }
  }
  return out;
}

// Leaves only the samples that both have, so that both are means over the same ones.
void keep_common(DenseColumn& a, DenseColumn& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (a.weights[i] != 0 && b.weights[i] != 0) continue;
    a.values[i] = a.weights[i] = b.values[i] = b.weights[i] = 0;
  }
}

double deviation_of_differences(const DenseColumn& a, const DenseColumn& b) {
  std::vector<double> differences(a.values.size()), weights(a.values.size());
  for (std::size_t i = 0; i < differences.size(); ++i) {
    if (a.weights[i] == 0) continue;
    differences[i] = a.values[i] / a.weights[i] - b.values[i] / b.weights[i];
    weights[i] = 1;
  }
  return deviation_of({.values = differences, .weights = weights});
}

}  // namespace

bool Group::contains(const SampleKey& key) const {
  return (!model || *model == key.model) && (!data || *data == key.data) && (!task || *task == key.task);
}

void SampleTable::add(const SampleKey& key, std::span<const Measurement> measurements) {
  const auto [entry, is_new] = numbers_.try_emplace(key, static_cast<std::int32_t>(samples_.size()));
  if (is_new) samples_.push_back(key);
  const std::int32_t sample = entry->second;
  for (const Measurement& m : measurements) {
    if (!std::isfinite(m.value) || !std::isfinite(m.weight) || m.weight == 0) {
      fail("sample {}: {} is {} with weight {}, expected finite numbers and a weight", key.sample, m.quantity,
           m.value, m.weight);
    }
    Column& column = columns_[{.quantity = m.quantity, .part = m.part, .layer = m.layer, .head = m.head}];
    const auto place = std::ranges::lower_bound(column.samples, sample);
    if (place != column.samples.end() && *place == sample) {
      fail("sample {}: {} of layer {}, head {}, part \"{}\" is given twice, expected once", key.sample,
           m.quantity, m.layer, m.head, m.part);
    }
    insert(column, place - column.samples.begin(), m);
    column.samples.insert(place, sample);
  }
}

std::vector<Index> SampleTable::select(const Group& group) const {
  std::vector<Index> chosen;
  for (const auto& [key, number] : numbers_) {
    if (group.contains(key)) chosen.push_back(number);
  }
  return chosen;
}

std::vector<Index> SampleTable::questions_of(std::span<const Index> samples) const {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, Index> numbers;
  std::vector<Index> out;
  for (const Index i : samples) {
    const SampleKey& key = samples_[static_cast<std::size_t>(i)];
    // A sample without a question is its own, the same for all models.
    const auto name = key.question.empty()
                          ? std::tuple(key.question, key.data, key.task, key.sample)
                          : std::tuple(key.question, std::string(), std::string(), std::string());
    out.push_back(numbers.try_emplace(name, std::ssize(numbers)).first->second);
  }
  return out;
}

std::vector<Summary> SampleTable::summaries(const Group& group, Intervals intervals) const {
  std::vector<Summary> out;
  const std::vector<Index> chosen = select(group), questions = questions_of(chosen);
  ResamplesBySize resamples;
  for (const auto& [key, column] : columns_) {
    const DenseColumn numbers = dense(column, chosen);
    const auto mean = ratio_of(numbers.ratios());
    if (!mean) continue;
    Summary summary = named(key);
    summary.n = numbers.n();
    summary.mean = *mean;
    summary.std = deviation_of(numbers.ratios());
    summary.null = numbers.null;
    DenseColumn units = by_question(numbers, questions);
    summary.questions = units.n();
    if (intervals == Intervals::kAll || key.head < 0) {
      if (const auto found = estimate_of({.a = std::move(units), .b = {}}, resamples))
        set_interval(summary, *found);
    }
    out.push_back(std::move(summary));
  }
  return out;
}

Index DenseColumn::n() const {
  return std::ssize(weights) - std::ranges::count(weights, 0.0);
}

DenseColumn dense(const SampleTable::Column& column, std::span<const Index> samples) {
  DenseColumn out{.values = std::vector<double>(samples.size()),
                  .weights = std::vector<double>(samples.size())};
  Mean null;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto place = std::ranges::lower_bound(column.samples, samples[i]);
    if (place == column.samples.end() || *place != samples[i]) continue;
    const auto at = place - column.samples.begin();
    out.values[i] = column.values[at];
    out.weights[i] = column.weights.empty() ? 1 : column.weights[at];
    if (!column.nulls.empty() && std::isfinite(column.nulls[at])) null.add(column.nulls[at]);
  }
  if (!null.empty()) out.null = null.value();
  return out;
}

DenseColumn by_question(const DenseColumn& column, std::span<const Index> questions) {
  DenseColumn out{.null = column.null};
  const Index count = questions.empty() ? 0 : *std::ranges::max_element(questions) + 1;
  out.values.resize(static_cast<std::size_t>(count));
  out.weights.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < questions.size(); ++i) {
    out.values[static_cast<std::size_t>(questions[i])] += column.values[i];
    out.weights[static_cast<std::size_t>(questions[i])] += column.weights[i];
  }
  return out;
}

std::vector<Summary> paired_differences(const SampleTable& table, const Pairing& pairing) {
  std::vector<Summary> out;
  const Pairs pairs = pairs_of(table, pairing);
  const std::vector<Index> questions = table.questions_of(pairs.a);
  ResamplesBySize resamples;
  for (const auto& [key, column] : table.columns()) {
    DenseColumn a = dense(column, pairs.a), b = dense(column, pairs.b);
    keep_common(a, b);
    const auto found =
        estimate_of({.a = by_question(a, questions), .b = by_question(b, questions)}, resamples);
    if (!found) continue;
    Summary summary = named(key);
    summary.n = a.n();
    summary.questions = found->questions;
    summary.mean = found->mean;
    summary.std = deviation_of_differences(a, b);
    if (a.null && b.null) summary.null = *a.null - *b.null;
    set_interval(summary, *found);
    out.push_back(std::move(summary));
  }
  return out;
}

std::optional<Estimate> estimate(const SampleTable& table, const Group& group, const ColumnKey& column) {
  const auto found = table.columns().find(column);
  if (found == table.columns().end()) return std::nullopt;
  const std::vector<Index> chosen = table.select(group);
  const DenseColumn numbers = dense(found->second, chosen);
  ResamplesBySize resamples;
  auto made = estimate_of({.a = by_question(numbers, table.questions_of(chosen)), .b = {}}, resamples);
  if (made) made->n = numbers.n();
  return made;
}

std::optional<Estimate> paired_estimate(const SampleTable& table, const Pairing& pairing,
                                        const ColumnKey& column) {
  const auto found = table.columns().find(column);
  if (found == table.columns().end()) return std::nullopt;
  const Pairs pairs = pairs_of(table, pairing);
  const std::vector<Index> questions = table.questions_of(pairs.a);
  DenseColumn a = dense(found->second, pairs.a), b = dense(found->second, pairs.b);
  keep_common(a, b);
  ResamplesBySize resamples;
  auto made = estimate_of({.a = by_question(a, questions), .b = by_question(b, questions)}, resamples);
  if (made) made->n = a.n();
  return made;
}

std::optional<Estimate> difference_estimate(const SampleTable& table, const Group& group, const ColumnKey& a,
                                            const ColumnKey& b) {
  const auto column_a = table.columns().find(a), column_b = table.columns().find(b);
  if (column_a == table.columns().end() || column_b == table.columns().end()) return std::nullopt;
  const std::vector<Index> chosen = table.select(group), questions = table.questions_of(chosen);
  const DenseColumn of_a = dense(column_a->second, chosen), of_b = dense(column_b->second, chosen);
  ResamplesBySize resamples;
  auto made = estimate_of({.a = by_question(of_a, questions), .b = by_question(of_b, questions)}, resamples);
  if (made) made->n = std::min(of_a.n(), of_b.n());
  return made;
}

}  // namespace buoy
