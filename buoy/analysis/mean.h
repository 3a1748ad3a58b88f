// A running mean that knows when it is empty.
#pragma once

#include "buoy/analysis/measurement.h"

namespace buoy {

struct Mean {
  double sum = 0;
  Index n = 0;

  void add(double value) {
    sum += value;
    ++n;
  }
  bool empty() const { return n == 0; }
  double value() const { return sum / static_cast<double>(n); }  // not to be asked when empty
};

// Adds `measurement` with the mean as its value; nothing when the mean is empty.
inline void emit(Measurements& out, Measurement measurement, const Mean& mean) {
  if (mean.empty()) return;
  measurement.value = mean.value();
  out.push_back(std::move(measurement));
}

}  // namespace buoy
