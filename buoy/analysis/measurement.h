// What an analysis is asked and what it gives back: one small row of numbers per sample.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buoy/analysis/anchors.h"
#include "buoy/base/types.h"
#include "buoy/probe/trace.h"

namespace buoy {

// One number of one sample. Over samples it becomes Σ value ÷ Σ weight: with weight 1 the plain mean, while a
// ratio of sums carries its denominator as weight. What is undefined on a sample is not emitted; values are
// finite and weights are not 0.
struct Measurement {
  std::string quantity;
  Index layer = -1;  // the model's own number of the layer; -1: of no one layer
  Index head = -1;   // -1: of no one head
  std::string part;  // which rows, which pass, which class: see the analysis
  double value = 0;
  double weight = 1;
  std::optional<double> null;  // value ÷ weight of the same statistic under uniform attention
};

struct AnalysisOptions {
  AnchorOptions anchors;
};

using Measurements = std::vector<Measurement>;
using AnalysisFunction = Measurements (*)(const Trace& trace, const AnalysisOptions& options);

}  // namespace buoy
