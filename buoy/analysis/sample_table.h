// All measurements of all samples, and what they come to over samples.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buoy/analysis/bootstrap.h"
#include "buoy/analysis/measurement.h"

namespace buoy {

struct SampleKey {
  std::string model, data, task, sample;
  // Samples of one question are one unit when resampled, wherever they come from: other data, other models.
  // Empty: the sample is a question by itself.
  std::string question = {};
  friend auto operator<=>(const SampleKey&, const SampleKey&) = default;
};

// Which samples to look at; what is not given may be anything.
struct Group {
  std::optional<std::string> model, data, task;
  bool contains(const SampleKey& key) const;
};

// A measured quantity; its order is that of all results.
struct ColumnKey {
  std::string quantity, part;
  Index layer = -1, head = -1;
  friend auto operator<=>(const ColumnKey&, const ColumnKey&) = default;
};

struct Summary {
  std::string quantity;
  Index layer = -1, head = -1;
  std::string part;
  Index n = 0;                   // samples that have the quantity
  Index questions = 0;           // that these samples ask; as many units are resampled
  double mean = 0;               // Σ value ÷ Σ weight
  double std = 0;                // of value ÷ weight over samples (n − 1); 0 for one sample
  std::optional<double> lo, hi;  // studentised bootstrap, 95 %; nothing where no interval was asked for
  std::optional<double> null;    // mean over those samples that have one
};

// Maps of layers × heads show means only: their many intervals can be left out.
enum class Intervals { kAll, kNotPerHead };

// Column by column; the names are held once. Results depend neither on the order of columns nor on that of
// samples.
class SampleTable {
 public:
  // What one column holds, in ascending order of samples.
  struct Column {
    std::vector<std::int32_t> samples;  // numbers in samples()
    std::vector<double> values;
    std::vector<double> weights;  // empty: all 1
    std::vector<double> nulls;    // empty: none; NaN: none of this sample
  };

  // May be called several times for one sample. Throws Error when a quantity of a sample is given twice, is
  // not finite or has weight 0.
  void add(const SampleKey& key, std::span<const Measurement> measurements);

  // One per quantity that a sample of the group has, in the order of ColumnKey.
  std::vector<Summary> summaries(const Group& group, Intervals intervals = Intervals::kAll) const;

  std::span<const SampleKey> samples() const { return samples_; }
  const std::map<ColumnKey, Column>& columns() const { return columns_; }

  // Numbers of the group's samples, in the order of their keys.
  std::vector<Index> select(const Group& group) const;

  // For each of these samples the number of its question, counted from 0 in the order in which they come.
  std::vector<Index> questions_of(std::span<const Index> samples) const;

 private:
  std::vector<SampleKey> samples_;
  std::map<SampleKey, std::int32_t> numbers_;
  std::map<ColumnKey, Column> columns_;
};

// A column with one entry for each of chosen samples, in their order; weight 0 where a sample has none.
struct DenseColumn {
  std::vector<double> values, weights;
  std::optional<double> null;  // mean

  Index n() const;  // samples that have it
  Ratios ratios() const { return {.values = values, .weights = weights}; }
};
DenseColumn dense(const SampleTable::Column& column, std::span<const Index> samples);

struct Pairing {
  std::string a, b;  // models
  std::optional<std::string> data, task;
};

// Sums over the samples of each question, [number of questions]: what is resampled.
DenseColumn by_question(const DenseColumn& column, std::span<const Index> questions);

// a − b on the samples that both have, matched by data, task and sample: resampled together. Quantities that
// only one of the two has do not appear. `null` is the difference of the nulls.
std::vector<Summary> paired_differences(const SampleTable& table, const Pairing& pairing);

// An estimate that a claim can rest on.
struct Estimate {
  Index n = 0;          // samples
  Index questions = 0;  // of the side that fewer have
  double mean = 0;
  Studentised bootstrap;
};

// One quantity of one group; a − b of one quantity of two models, paired as in paired_differences(); a − b of
// two quantities of one group, each over the samples that have it, resampled together. Nothing when no sample
// has what it takes.
std::optional<Estimate> estimate(const SampleTable& table, const Group& group, const ColumnKey& column);
std::optional<Estimate> paired_estimate(const SampleTable& table, const Pairing& pairing,
                                        const ColumnKey& column);
std::optional<Estimate> difference_estimate(const SampleTable& table, const Group& group, const ColumnKey& a,
                                            const ColumnKey& b);

}  // namespace buoy
