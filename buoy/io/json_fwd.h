// Names Json without its thousands of lines, for headers that only mention it.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace buoy {

// Object keys keep the order of the file, so that what we write reads like what we read.
using Json = nlohmann::ordered_json;
class JsonObject;

}  // namespace buoy
