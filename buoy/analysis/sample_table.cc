#include "buoy/analysis/sample_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

void set_interval(Summary& summary, std::vector<double> estimates) {
  const Interval interval = percentile_interval(std::move(estimates), summary.mean);
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

std::vector<Summary> SampleTable::summaries(const Group& group, Intervals intervals) const {
  std::vector<Summary> out;
  const std::vector<Index> chosen = select(group);
  const Resamples resamples(std::ssize(chosen));
  for (const auto& [key, column] : columns_) {
    const DenseColumn numbers = dense(column, chosen);
    const auto mean = ratio_of(numbers.ratios());
    if (!mean) continue;
    Summary summary = named(key);
    summary.n = numbers.n();
    summary.mean = *mean;
    summary.std = deviation_of(numbers.ratios());
    summary.null = numbers.null;
    if (intervals == Intervals::kAll || key.head < 0)
      set_interval(summary, resample(numbers.ratios(), resamples));
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

std::vector<Summary> paired_differences(const SampleTable& table, const Pairing& pairing) {
  std::vector<Summary> out;
  const Pairs pairs = pairs_of(table, pairing);
  const Resamples resamples(std::ssize(pairs.a));
  for (const auto& [key, column] : table.columns()) {
    DenseColumn a = dense(column, pairs.a), b = dense(column, pairs.b);
    keep_common(a, b);
    const auto mean_a = ratio_of(a.ratios()), mean_b = ratio_of(b.ratios());
    if (!mean_a || !mean_b) continue;
    Summary summary = named(key);
    summary.n = a.n();
    summary.mean = *mean_a - *mean_b;
    summary.std = deviation_of_differences(a, b);
    if (a.null && b.null) summary.null = *a.null - *b.null;
    std::vector<double> differences = resample(a.ratios(), resamples);
    const std::vector<double> of_b = resample(b.ratios(), resamples);
    for (std::size_t i = 0; i < of_b.size(); ++i) differences[i] -= of_b[i];
    set_interval(summary, std::move(differences));
    out.push_back(std::move(summary));
  }
  return out;
}

std::optional<ColumnDifference> column_difference(const SampleTable& table, const Group& group,
                                                  const ColumnKey& a, const ColumnKey& b) {
  const auto column_a = table.columns().find(a), column_b = table.columns().find(b);
  if (column_a == table.columns().end() || column_b == table.columns().end()) return std::nullopt;
  const std::vector<Index> chosen = table.select(group);
  const DenseColumn of_a = dense(column_a->second, chosen), of_b = dense(column_b->second, chosen);
  const auto mean_a = ratio_of(of_a.ratios()), mean_b = ratio_of(of_b.ratios());
  if (!mean_a || !mean_b) return std::nullopt;
  const Resamples resamples(std::ssize(chosen));
  std::vector<double> differences = resample(of_a.ratios(), resamples);
  const std::vector<double> resampled_b = resample(of_b.ratios(), resamples);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= resampled_b[i];
  ColumnDifference out{.n = std::min(of_a.n(), of_b.n()), .mean = *mean_a - *mean_b};
  const Interval interval = percentile_interval(std::move(differences), out.mean);
  out.lo = interval.lo;
  out.hi = interval.hi;
  return out;
}

}  // namespace buoy
