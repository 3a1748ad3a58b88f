// Settings by their Python names, which are those of the command line.
#pragma once

#include <pybind11/pybind11.h>

#include "buoy/decode/sampler.h"
#include "buoy/probe/record_settings.h"

namespace buoy::python {

// Throws UsageError for names that there are not, values of the wrong type or out of range, and settings
// without effect on this model.
SamplerSettings sampler_from(const pybind11::dict& given, const ModelConfig& config);

// What a trace records: record (a list), record_steps, layers, per_head, implicit. Throws UsageError.
RecordSettings record_from(const pybind11::dict& given, Index layers);

}  // namespace buoy::python
