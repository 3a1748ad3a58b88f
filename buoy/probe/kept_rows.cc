#include "buoy/probe/kept_rows.h"

#include <algorithm>

#include "buoy/base/at.h"
#include "buoy/base/error.h"

namespace buoy {

void KeptRows::begin(std::vector<Index> rows, Index N) {
  N_ = N;
  rows_ = std::move(rows);
  layers_.clear();
}

void KeptRows::keep(std::span<const Index> measured, std::span<const float> means) {
  check(std::ssize(means) == std::ssize(measured) * N_, "row means are [rows, N]");
  std::vector<float>& layer = layers_.emplace_back();
  layer.reserve(rows_.size() * at(N_));
  for (const Index row : rows_) {
    const Index place = std::ranges::find(measured, row) - measured.begin();
    check(place < std::ssize(measured), "a row that is kept was measured");
    const auto begin = means.begin() + place * N_;
    layer.insert(layer.end(), begin, begin + N_);
  }
}

Index KeptRows::place_of(Index row) const {
  const Index place = std::ranges::find(rows_, row) - rows_.begin();
  return place < std::ssize(rows_) ? place : -1;
}

bool KeptRows::has(std::span<const Index> rows) const {
  return !rows.empty() && std::ranges::all_of(rows, [&](Index row) { return place_of(row) >= 0; });
}

void KeptRows::append_mean(Index layer, std::span<const Index> rows, std::vector<float>& out) const {
  std::vector<double> sums(at(N_), 0.0);
  if (has(rows)) {
    for (const Index row : rows) {
      const float* from = layers_[at(layer)].data() + place_of(row) * N_;
      for (Index j = 0; j < N_; ++j) sums[at(j)] += from[j];
    }
  }
  const double count = static_cast<double>(std::max<Index>(1, std::ssize(rows)));
  for (const double sum : sums) out.push_back(static_cast<float>(sum / count));
}

}  // namespace buoy
