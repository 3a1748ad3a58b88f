// Reads what config.json says of state space mixers.
#pragma once

#include "buoy/io/json.h"
#include "buoy/model/config.h"

namespace buoy {

// After the sizes of `model` have been read. Throws Error: missing or impossible sizes, a list of layers that
// does not fit.
SsdShape read_ssd(const JsonObject& config, const SsdKeys& keys, const ModelConfig& model);

}  // namespace buoy
