// Reads what config.json says of experts.
#pragma once

#include "buoy/io/json.h"
#include "buoy/model/config.h"

namespace buoy {

// Of a model of L layers. Throws Error: missing or impossible sizes, lists of layers that do not fit.
ExpertShape read_experts(const JsonObject& config, const ExpertKeys& keys, Index L);

}  // namespace buoy
