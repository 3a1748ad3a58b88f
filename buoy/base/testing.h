// What tests of every room need.
#pragma once

#include <filesystem>
#include <string_view>

namespace buoy {

// A file or folder of the source tree: source_path("models/mini-mdm").
std::filesystem::path source_path(std::string_view relative);

}  // namespace buoy
