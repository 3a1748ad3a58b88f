// Rows of attention, averaged over heads, that are kept from one pass to be averaged over other sets of rows
// later.
#pragma once

#include <span>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// Rows of one pass, layer by layer: [layers, rows, N] floats, 64 MiB for 128 rows of 4096 keys in 32 layers.
class KeptRows {
 public:
  // Forgets what it holds. `rows` are positions, in any order.
  void begin(std::vector<Index> rows, Index N);

  // The rows of the next layer out of `means` [measured, N], whose row i is that of position measured[i].
  // Throws InternalError when one of its rows is not there.
  void keep(std::span<const Index> measured, std::span<const float> means);

  Index N() const { return N_; }

  // Whether `rows` is not empty and all of them were kept.
  bool has(std::span<const Index> rows) const;

  // Appends the mean over `rows` in a layer, [N]; zeros unless has(rows).
  void append_mean(Index layer, std::span<const Index> rows, std::vector<float>& out) const;

 private:
  Index place_of(Index row) const;  // -1: not kept

  Index N_ = 0;
  std::vector<Index> rows_;
  std::vector<std::vector<float>> layers_;  // [layers][rows, N]
};

}  // namespace buoy
