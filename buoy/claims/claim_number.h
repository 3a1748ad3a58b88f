// The number that one sample contributes to a claim, made from its own rows.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "buoy/claims/claims.h"

namespace buoy {

// As in Measurement: over samples Σ value ÷ Σ weight.
struct ClaimNumber {
  double value = 0, weight = 1;
  std::optional<double> null;
};

struct SampleRow {
  const ColumnKey* column = nullptr;
  double value = 0, weight = 1;
  std::optional<double> null;
};

// The rows of one quantity that a sample has, in the order of columns. Views the table.
struct SampleRows {
  SampleKey key;
  std::vector<SampleRow> rows;
};

// Of every sample of the model that has the quantity.
std::vector<SampleRows> rows_of(const SampleTable& table, const std::string& model,
                                std::string_view quantity);

// The layers for which the table says anything about the model.
std::set<Index> recorded_layers(const SampleTable& table, const std::string& model);

// Nothing where the sample does not have it. `layers`: those recorded.
std::optional<ClaimNumber> number_of(const ClaimSide& side, const SampleRows& sample,
                                     const std::set<Index>& layers);

}  // namespace buoy
