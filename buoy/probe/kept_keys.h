// The keys of the latest recorded step, to see how far those of the next have turned.
#pragma once

#include <span>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// Keys of one layer and step. Views them.
struct StepKeys {
  std::span<const float> keys;  // [heads, N, D]
  Index heads = 0, N = 0;
};

class KeptKeys {
 public:
  // Appends 1 − cosine of each position's key, all heads as one vector, and the one that was kept of this
  // layer, [N]; 0 where none was, or where one of the two is 0. Then keeps these. Throws InternalError when
  // the sizes do not fit.
  void append_change(Index layer, const StepKeys& now, std::vector<float>& out);

 private:
  struct Layer {
    std::vector<float> keys;
    Index N = 0;
  };
  std::vector<Layer> layers_;
};

}  // namespace buoy
