// The table of analyses, and the one way to run them: each number beside its null.
#pragma once

#include <span>
#include <string_view>

#include "buoy/analysis/measurement.h"
#include "buoy/analysis/null_model.h"

namespace buoy {

struct Analysis {
  std::string_view name;         // "drift"
  std::string_view title;        // for a figure
  std::string_view explanation;  // two plain sentences
  AnalysisFunction function;
};

// drift, salience, keys, absorption, concentration, qk, heads, dormant, flow, classes, tasks, experts.
std::span<const Analysis> analyses();

// nullptr when there is none of that name.
const Analysis* find_analysis(std::string_view name);

// Runs the analysis on the trace and on its null and joins the two by quantity, layer, head and part. A
// number that does not exist under the null (what is measured on anchors, where uniform attention has none)
// has no null.
Measurements measure(const Analysis& analysis, const TraceWithNull& traces, const AnalysisOptions& options);

}  // namespace buoy
